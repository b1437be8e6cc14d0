/** `corkboard forget`: erases people, everywhere and for good (decision 54). */
import type { Command } from 'commander';
import { forgetUsers } from '../dataset/forgotten.ts';
import { addExamples } from './examples.ts';
import { readIdentifiers } from './options.ts';
import { type JsonOption, printResult, remark } from './output.ts';
import { withoutPulls } from './pull-folder.ts';
import { type StorageOptions, withStore } from './storage.ts';

interface ForgetOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly user: readonly bigint[];
}

const WAIT_MS = 600_000;

export function addForgetCommand(program: Command): void {
  const forget = program
    .command('forget')
    .description(
      'Erase people for good: what they did, their names, addresses, memberships and points, also from earlier versions. What others did with what was theirs stays, under their number alone. Later imports leave out what is said of them. What `pull` has kept for the organization in the data folder is removed, so that the next pull starts over.',
    )
    .requiredOption('--organization <name>', 'the organization')
    .requiredOption('--user <ids>', 'ids of users, between commas', readIdentifiers)
    .option('--json', 'print one JSON object')
    .action((_options: unknown, command: Command) => forgetPeople(command.optsWithGlobals()));
  addExamples(forget, ['corkboard forget --organization school --user 12']);
}

async function forgetPeople(options: ForgetOptions): Promise<void> {
  const { organization, user } = options;
  const onWait = () => remark(`Waiting for another change of ${organization} to end.`);
  const turn = { waitMs: WAIT_MS, onWait };
  // What pulls have kept goes first: when the store has forgotten the people, nothing else is left
  // to do.
  const outcome = await withoutPulls(options.data, organization, turn, (beforeErasing) =>
    withStore(options, (store) => forgetUsers(store, organization, user, { ...turn, beforeErasing })),
  );
  const { published, version, erased } = outcome;
  printResult(options, { published, version, users: user, erasedEvents: erased }, () =>
    published
      ? `Forgot ${user.join(', ')}: ${erased.toLocaleString('en')} events erased. Published as version ${version} of ${organization}.`
      : 'Nothing has changed: they were forgotten before.',
  );
}
