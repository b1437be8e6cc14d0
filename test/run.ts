/**
 * Runs the tests: `node test/run.ts [quick|slow|tools|long] [option or file]...`. Without a name it
 * runs all tests but the slow ones and those that need tools. Options are those of `node --test`,
 * as `--name=value`; files end in `.ts`.
 */
import { spawn } from 'node:child_process';
import { join, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { environmentOf, type PostgresVersion, readPostgresVersion } from './postgres/versions.ts';
import { filesOf, quickFiles } from './sets.ts';
import { makeShares } from './shares.ts';

const ROOT = join(import.meta.dirname, '..');
/**
 * For compiled source and stripped types: without it every test file compiles the product again.
 */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/compiled');
/** One PostgreSQL and one bucket for all files, started on first use. */
const SHARED_SERVERS = '--test-global-setup=test/global-setup.ts';
/** May exceed the number of cores, because tests mostly wait. */
const FILES_AT_ONCE = 4;
const WANTED_POSTGRES = readPostgresVersion(process.env['CORKBOARD_TEST_POSTGRES']);
const LONG = { CORKBOARD_LONG: '1', CORKBOARD_RUNS: '16' };
/** In percent, slightly below what a long run covers: 99.1, 96.5 and 97.6. */
const COVERAGE = [
  '--experimental-test-coverage',
  '--test-coverage-include=src/**',
  '--test-coverage-lines=98',
  '--test-coverage-branches=95',
  '--test-coverage-functions=96',
];

interface TestRun {
  readonly files: () => readonly string[];
  readonly options?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Absent: the version of `CORKBOARD_TEST_POSTGRES`. */
  readonly postgres?: PostgresVersion;
}

/** More than run at once, so that no core is idle while the last of a few large ones runs. */
const SHARES = 16;
/** With many cases a single file can take half an hour, so hardly any two are in one share. */
const LONG_SHARES = 96;

const quick = () => makeShares(quickFiles(), FILES_AT_ONCE);
const usual = (shares = SHARES) => makeShares([...filesOf('stores', 'longer'), ...quickFiles()], shares);
const tools = () => filesOf('tools');
const slow = (shares = SHARES) => makeShares(filesOf('failures', 'places', 'data'), shares);

/** The runs of each name, one after the other. */
const RUNS: Readonly<Record<string, readonly TestRun[]>> = {
  usual: [{ files: () => usual() }],
  quick: [{ files: quick }],
  slow: [{ files: () => slow() }],
  tools: [{ files: tools }],
  long: [
    ...(['15', '18'] as const).map((postgres) => ({
      files: () => makeShares(filesOf('failures', 'places', 'stores'), SHARES),
      postgres,
    })),
    // Last, so that the output ends with the coverage. The compile cache would falsify it.
    {
      files: () => [...tools(), ...slow(LONG_SHARES), ...usual(LONG_SHARES)],
      options: COVERAGE,
      environment: { ...LONG, NODE_DISABLE_COMPILE_CACHE: '1' },
    },
  ],
};

/** Resolves to the exit code of the test runner. */
function runTests({
  files,
  options = [],
  environment = {},
  postgres = WANTED_POSTGRES,
}: TestRun): Promise<number> {
  const atOnce = `--test-concurrency=${FILES_AT_ONCE}`;
  const args = ['--test', SHARED_SERVERS, atOnce, '--test-reporter=spec', ...options];
  const child = spawn(process.execPath, [...args, ...files()], {
    cwd: ROOT,
    stdio: ['inherit', options.includes(COVERAGE[0]!) ? 'pipe' : 'inherit', 'inherit'],
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...environment,
      ...environmentOf(postgres),
      // Variables that the caller has set take precedence.
      ...process.env,
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
  // The runner only warns if it cannot report the coverage, and then compares no thresholds.
  let isUnreported = false;
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      isUnreported ||= line.includes('Could not report code coverage');
      process.stdout.write(`${line}\n`);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(isUnreported ? 1 : (code ?? 1)));
  });
}

const [first = '', ...others] = process.argv.slice(2);
const isNamed = Object.hasOwn(RUNS, first);
const given = isNamed ? others : process.argv.slice(2);
const files = given.filter((argument) => argument.endsWith('.ts')).map((file) => file.replaceAll(sep, '/'));
const options = given.filter((argument) => !argument.endsWith('.ts'));

for (const run of RUNS[isNamed ? first : 'usual']!) {
  const code = await runTests({
    ...run,
    files: files.length > 0 ? () => files : run.files,
    options: [...(run.options ?? []), ...options],
  });
  process.exitCode ||= code;
}
