/** `corkboard pull`: copies the data that a key can see on another server (decision 56). */
import type { Command } from 'commander';
import type { ImportReport } from '../../ingest/import.ts';
import type { Missing, Pulled } from '../../pull/pull.ts';
import { organizationDigest } from '../../store/organization-digest.ts';
import { isUnknown } from '../../store/organization-name.ts';
import { CREATE, checkNewOrganization, type NewOrganizationOptions } from '../process/new-organization.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { withOwnPullFolder } from '../process/pull-folder.ts';
import {
  checkSourceUrl,
  keyFileOption,
  keyInputOption,
  readSourceKey,
  type SourceKeyOptions,
} from '../process/source-key.ts';
import { hasCatalog, type StorageOptions, withNewStore, withStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { renderReport } from '../terminal/import-report.ts';
import { countOf, type JsonOption, printResult, remark } from '../terminal/output.ts';
import { importInto, refuseUnpublished } from './import.ts';

interface PullCommandOptions
  extends StorageOptions,
    JsonOption,
    SourceKeyOptions,
    Omit<NewOrganizationOptions, 'dryRun'> {}

const KEY_VARIABLE = 'CORKBOARD_PULL_KEY';
/** Of erased users, of which a server can send a million. `--json` lists all. */
const IDS_LISTED = 100;

interface PullReport extends Pulled {
  readonly organization: string;
  readonly import: ImportReport | undefined;
}

export function addPullCommand(program: Command): void {
  const command = program
    .command('pull')
    .summary('Copy the data of another server into an organization.')
    .description(
      'Copy everything that a key can see on another server into an organization here, as one publication. The server can be a Corkboard or any other server that implements one of the variants. Run the command again to continue an interrupted pull or to fetch changes. docs/pull.md says what is copied.',
    )
    .argument('<url>', 'base URL of a variant, the part before /v1/events, like https://data.example.org/a')
    .addOption(organizationOption('organization here; created if it does not exist'))
    .addOption(keyFileOption(KEY_VARIABLE))
    .addOption(keyInputOption())
    .option(...CREATE)
    .option('--json', 'print one JSON object')
    .action(async (url: string, _options: unknown, command: Command) => {
      checkSourceUrl(url);
      await pullFrom(url, await chooseOrganization(command.optsWithGlobals()));
    });
  addExamples(command, [
    'corkboard pull https://data.example.org/a --organization school --key-file school.key',
    'CORKBOARD_PULL_KEY=$(pass school) corkboard pull https://data.example.org/b --organization school --json',
  ]);
}

async function pullFrom(url: string, options: PullCommandOptions): Promise<void> {
  const key = await readSourceKey(options, KEY_VARIABLE);
  if (hasCatalog(options)) await withStore(options, (store) => checkNewOrganization(store, options));
  const { pull } = await import('../../pull/pull.ts');
  const { organization } = options;
  let report: ImportReport | undefined;
  const publish = async (paths: readonly string[]) => {
    report = await withNewStore(options, (store) =>
      importInto(store, paths, { organization, command: 'pull' }),
    );
    return report.outcome !== 'refused';
  };
  const pulled = await withOwnPullFolder(
    options.data,
    organization,
    { waitMs: 0, findOwner: () => findDigest(options) },
    async (folder) => await pull({ url, key, folder, publish, tell: remark }),
  );
  const result: PullReport = { organization, ...pulled, import: report };
  printResult(options, result, () => renderPulled(result));
  tellGone(pulled.gone, organization);
  if (report !== undefined) refuseUnpublished(report);
}

/** The digest of the organization that the data is for; undefined if it does not exist yet. */
async function findDigest(options: PullCommandOptions): Promise<string | undefined> {
  if (!hasCatalog(options)) return undefined;
  return await withStore(options, async (store) => {
    const { secret } = await store.organization(options.organization);
    return organizationDigest(secret);
  }).catch((error: unknown) => {
    if (isUnknown(error)) return undefined;
    throw error;
  });
}

function renderPulled({ import: report, organization }: PullReport): string {
  return report === undefined ? `Nothing new for ${organization}` : renderReport(report);
}

function tellGone({ users, boards, points, forgotten }: Missing, organization: string): void {
  if (users + boards + points > 0) {
    remark(
      `The server no longer shows ${users} users, ${boards} boards and ${points} points totals; they remain in ${organization}. Pull into a new organization for a copy without them.`,
    );
  }
  if (forgotten.length > 0) {
    const more = forgotten.length - IDS_LISTED;
    const listed = forgotten.slice(0, IDS_LISTED).join(', ');
    remark(
      `The server has erased these users, so they are erased in ${organization}, too: ${listed}${more > 0 ? ` and ${countOf(more, 'more user')}` : ''}.`,
    );
  }
}
