/** `corkboard pull`: copies the data that a key can see on another server (decision 56). */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import type { ImportReport } from '../../ingest/import.ts';
import type { Missing, Pulled } from '../../pull/pull.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { withPullFolder } from '../process/pull-folder.ts';
import { type StorageOptions, withNewStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { renderReport } from '../terminal/import-report.ts';
import { type JsonOption, printResult, remark } from '../terminal/output.ts';
import { readTextInput } from '../terminal/text-input.ts';
import { importInto, refuseUnpublished } from './import.ts';

interface PullCommandOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly key?: string;
  readonly keyFile?: string;
}

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
    .option(
      '--key-file <file>',
      'file with the key; otherwise CORKBOARD_PULL_KEY is the key, or the command prompts for it',
    )
    .option('--key <->', 'read the key from standard input; the only value is -')
    .option('--json', 'print one JSON object')
    .action(async (url: string, _options: unknown, command: Command) => {
      checkUrl(url);
      await pullFrom(url, await chooseOrganization(command.optsWithGlobals()));
    });
  addExamples(command, [
    'corkboard pull https://data.example.org/a --organization school --key-file school.key',
    'CORKBOARD_PULL_KEY=$(pass school) corkboard pull https://data.example.org/b --organization school --json',
  ]);
}

async function pullFrom(url: string, options: PullCommandOptions): Promise<void> {
  const key = await readKey(options);
  const { pull } = await import('../../pull/pull.ts');
  const { organization } = options;
  let report: ImportReport | undefined;
  const publish = async (paths: readonly string[]) => {
    report = await withNewStore(options, (store) =>
      importInto(store, paths, { organization, command: 'pull' }),
    );
    return report.outcome !== 'refused';
  };
  const pulled = await withPullFolder(
    options.data,
    organization,
    { waitMs: 0 },
    async (folder) => await pull({ url, key, folder, publish, tell: remark }),
  );
  const result: PullReport = { organization, ...pulled, import: report };
  printResult(options, result, () => renderPulled(result));
  tellGone(pulled.gone, organization);
  if (report !== undefined) refuseUnpublished(report);
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
    remark(
      `The server has erased these users, so they are erased in ${organization}, too: ${forgotten.join(', ')}.`,
    );
  }
}

function checkUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url !== undefined && /^https?:$/.test(url.protocol) && isPlain) return;
  throw new AppError('option-malformed', 'The URL must be like https://data.example.org/a, without a key.');
}

/**
 * Reads the key only from sources that other users of the machine cannot see. Throws
 * `option-malformed`, `file-unreadable`.
 */
async function readKey({ key, keyFile }: PullCommandOptions): Promise<string> {
  if (key !== undefined && key !== '-') {
    throw new AppError(
      'option-malformed',
      'A key on the command line is visible in the process list. Use --key-file FILE, CORKBOARD_PULL_KEY, or --key - with the key on standard input.',
    );
  }
  if (key !== undefined && keyFile !== undefined) {
    throw new AppError('option-malformed', 'Use either --key-file or --key -, not both.');
  }
  const named = key ?? keyFile;
  const text =
    named === undefined
      ? (process.env['CORKBOARD_PULL_KEY'] ?? (await promptForKey()))
      : await readTextInput(named);
  const trimmed = text.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new AppError('option-malformed', 'The key must be one line of printable characters.');
}

async function promptForKey(): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new AppError(
      'option-malformed',
      'No key was given. Use --key-file FILE, CORKBOARD_PULL_KEY, or --key - with the key on standard input.',
    );
  }
  process.stderr.write('Key: ');
  // Typed characters are not shown.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}
