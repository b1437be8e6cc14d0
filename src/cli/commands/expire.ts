/** `corkboard expire`: deletes events that are too old to be kept (decision 85). */
import type { Command } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import { expiryOf } from '../../store/retention.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { previewChange, publishChange, turnOf } from '../process/publish.ts';
import { type StorageOptions, withStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { countOf, type JsonOption, printResult, renderInstant } from '../terminal/output.ts';

interface ExpireOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

const WAIT_MS = 600_000;

export function addExpireCommand(program: Command): void {
  const expire = program
    .command('expire')
    .summary('Delete events that are too old to be kept.')
    .description(
      'Delete events that are older than the organization keeps them ("organizations configure --keep-events"), and publish the rest. Every import does the same, so this is only needed if none is run. If more than a fifth of the events are too old, the clock may be wrong: an import then keeps them all and says so, and this command is refused without --yes.',
    )
    .addOption(organizationOption('name of the organization'))
    .option('--yes', 'delete them even if they are more than a fifth of the events')
    .option('--dry-run', 'say how many would be deleted, and change nothing')
    .option('--json', 'print one JSON object')
    .action(async (_options: unknown, command: Command) =>
      expireEvents(await chooseOrganization(command.optsWithGlobals<ExpireOptions>())),
    );
  addExamples(expire, [
    'corkboard expire --organization school --dry-run',
    'corkboard expire --organization school',
    'corkboard expire --organization school --yes',
  ]);
}

async function expireEvents(options: ExpireOptions): Promise<void> {
  const { organization } = options;
  const { beforeMs, changes, outcome } = await withStore(options, async (store) => {
    const { rules } = await store.organization(organization);
    const expiryMs = expiryOf(rules);
    if (expiryMs === undefined) {
      throw new AppError(
        'settings-refused',
        `${organization} keeps all events. Set a period with "corkboard organizations configure ${organization} --keep-events".`,
      );
    }
    const isDry = options.dryRun === true;
    const whenOverdue = options.yes || isDry ? 'delete' : 'refuse';
    const turn = { ...turnOf(organization, WAIT_MS), cause: { command: 'expire' }, whenOverdue } as const;
    const published = isDry ? undefined : await publishChange(store, organization, turn);
    const { changes } = published ?? (await previewChange(store, organization, turn));
    return { beforeMs: expiryMs, changes, outcome: published };
  });
  const before = renderInstant(beforeMs);
  const { deleted } = changes.events;
  if (outcome === undefined) {
    return printResult(options, { dryRun: true, before, deletedEvents: deleted }, () => {
      return `This would delete ${countOf(deleted, 'event')} before ${before}. Nothing was changed (dry run).`;
    });
  }
  const { published, version } = outcome;
  printResult(options, { published, version, before, deletedEvents: deleted }, () =>
    published
      ? `Deleted ${countOf(deleted, 'event')} before ${before}. Published as version ${version} of ${organization}.`
      : `Nothing has changed: there are no events before ${before}.`,
  );
}
