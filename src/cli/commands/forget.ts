/** `corkboard forget`: erases users permanently, also from earlier versions (decision 54). */
import type { Command } from 'commander';
import { forgetUsers } from '../../store/forgotten.ts';
import { organizationDigest } from '../../store/organization-digest.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { tellOverdue, turnOf } from '../process/publish.ts';
import { pullsOf, removePulls, withoutPulls } from '../process/pull-folder.ts';
import { type StorageOptions, withStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readIdentifiers } from '../terminal/options.ts';
import { countOf, type JsonOption, printResult } from '../terminal/output.ts';

interface ForgetOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly user: readonly bigint[];
}

const WAIT_MS = 600_000;

export function addForgetCommand(program: Command): void {
  const forget = program
    .command('forget')
    .summary('Erase users permanently.')
    .description(
      'Erase users permanently, also from earlier versions: their events, names, addresses, memberships and points. Events of other users that involve their content stay and show only the id of the erased user. Later imports ignore records about erased users. The command also deletes the files that "pull" keeps for the organization in the data folder, so the next pull starts over.',
    )
    .addOption(organizationOption('name of the organization'))
    .requiredOption('--user <ids>', 'comma-separated ids of users', readIdentifiers)
    .option('--json', 'print one JSON object')
    .action(async (_options: unknown, command: Command) =>
      forgetPeople(await chooseOrganization(command.optsWithGlobals())),
    );
  addExamples(forget, ['corkboard forget --organization school --user 12']);
}

async function forgetPeople(options: ForgetOptions): Promise<void> {
  const { organization, user } = options;
  const turn = { ...turnOf(organization, WAIT_MS), cause: { command: 'forget' } };
  // The files of pulls are deleted first: once the store has erased the users, repeating the
  // command does nothing.
  const outcome = await withoutPulls(options.data, organization, turn, (removeKept) =>
    withStore(options, async (store) => {
      const { secret } = await store.organization(organization);
      const beforeErasing = async () => {
        await removeKept();
        // A renaming that was killed, or made on a different machine, has left the former name.
        await removePulls(options.data, await otherPulls(options, secret), turn);
      };
      return await forgetUsers(store, organization, user, { ...turn, beforeErasing });
    }),
  );
  tellOverdue(organization, outcome);
  const { published, version, erased } = outcome;
  printResult(options, { published, version, users: user, erasedEvents: erased }, () =>
    published
      ? `Erased ${user.length === 1 ? 'user' : 'users'} ${user.join(', ')} and ${countOf(erased, 'event')}. Published as version ${version} of ${organization}.`
      : 'Nothing has changed: these users were erased before.',
  );
}

/** Names under which pulls keep files for the organization with this secret, without its own. */
async function otherPulls(
  { data, organization }: ForgetOptions,
  secret: Uint8Array,
): Promise<readonly string[]> {
  const names = await pullsOf(data, organizationDigest(secret));
  return names.filter((name) => name !== organization.toLowerCase());
}
