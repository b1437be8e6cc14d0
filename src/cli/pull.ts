/** `corkboard pull`: what a key can see on another server, as an organization here (decision 56). */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { AppError } from '../app-error.ts';
import type { ImportReport } from '../ingest/import.ts';
import type { Missing, Pulled } from '../pull/pull.ts';
import { addExamples } from './examples.ts';
import { importInto, refuseUnpublished } from './import.ts';
import { renderReport } from './import-report.ts';
import { type JsonOption, printResult, remark } from './output.ts';
import { withPullFolder } from './pull-folder.ts';
import { type StorageOptions, withNewStore } from './storage.ts';
import { readTextInput } from './text-input.ts';

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
    .description(
      'Copy what a key can see on another server, a Corkboard or any other that speaks one of the variants, into an organization here, as one publication. What is interrupted goes on where it was; afterwards only what is new is fetched. docs/pull.md says what comes along.',
    )
    .argument('<url>', 'base of a variant, below which /v1/events lies, like https://data.example.org/a')
    .requiredOption('--organization <name>', 'the organization here; it is made when there is none')
    .option(
      '--key-file <file>',
      'file with the key; without it CORKBOARD_PULL_KEY is the key, or you are asked',
    )
    .option('--key <->', 'only -: the key comes from standard input; who lists the processes sees options')
    .option('--json', 'print one JSON object')
    .action((url: string, _options: unknown, command: Command) => pullFrom(url, command.optsWithGlobals()));
  addExamples(command, [
    'corkboard pull https://data.example.org/a --organization school --key-file school.key',
    'CORKBOARD_PULL_KEY=$(pass school) corkboard pull https://data.example.org/b --organization school --json',
  ]);
}

async function pullFrom(url: string, options: PullCommandOptions): Promise<void> {
  checkUrl(url);
  const key = await readKey(options);
  const { pull } = await import('../pull/pull.ts');
  const { organization } = options;
  let report: ImportReport | undefined;
  const publish = async (paths: readonly string[]) => {
    report = await withNewStore(options, (store) => importInto(store, paths, { organization }));
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
  return report === undefined ? `Nothing is new for ${organization}` : renderReport(report);
}

function tellGone({ users, boards, points, forgotten }: Missing, organization: string): void {
  if (users + boards + points > 0) {
    remark(
      `The server does not show ${users} users, ${boards} boards and ${points} figures of points any more; they stay in ${organization}. Pull into a new organization to be without them.`,
    );
  }
  if (forgotten.length > 0) {
    remark(
      `The server has forgotten these users, who are erased in ${organization}, too: ${forgotten.join(', ')}.`,
    );
  }
}

function checkUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url !== undefined && /^https?:$/.test(url.protocol) && isPlain) return;
  throw new AppError(
    'option-malformed',
    'The URL has to be one like https://data.example.org/a, without a key in it.',
  );
}

/** From wherever it cannot be seen by others. Throws `option-malformed`, `file-unreadable`. */
async function readKey({ key, keyFile }: PullCommandOptions): Promise<string> {
  if (key !== undefined && key !== '-') {
    throw new AppError(
      'option-malformed',
      'Who lists the processes of the machine would see the key. Give it as --key-file FILE, in CORKBOARD_PULL_KEY, or with --key - on standard input.',
    );
  }
  if (key !== undefined && keyFile !== undefined) {
    throw new AppError('option-malformed', 'Give either --key-file or --key -, not both.');
  }
  const named = key ?? keyFile;
  const text =
    named === undefined
      ? (process.env['CORKBOARD_PULL_KEY'] ?? (await promptForKey()))
      : await readTextInput(named);
  const trimmed = text.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new AppError('option-malformed', 'The key has to be one line of printable characters.');
}

async function promptForKey(): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new AppError(
      'option-malformed',
      'There is no key. Give --key-file FILE, CORKBOARD_PULL_KEY, or --key - on standard input.',
    );
  }
  process.stderr.write('Key: ');
  // What is typed is not shown.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}
