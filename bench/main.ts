/** `npm run bench`: import, export and small requests, each beside Node sending the same bytes from a file. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type DataSet, dataSets } from './cases.ts';
import { type DataSetResult, measureDataSet } from './measurement.ts';
import { renderCircumstances, renderResults } from './report.ts';

const HELP = `npm run bench -- [options]

  --events N    events of the invented community (1,000,000)
  --rounds N    rounds of each measurement (5)
  --only NAME   only one data set (community, oulad) or case (export, board, points, boards, users, unchanged); may be repeated
  --quick       50,000 events and 2 short rounds, without the large data set: shows that all works, not how fast
  --help        this text

A run without --only and --quick writes its figures to bench/results.md.
`;

const RESULTS = join(import.meta.dirname, 'results.md');

const { values: options } = parseArgs({
  options: {
    events: { type: 'string' },
    rounds: { type: 'string' },
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) {
  process.stdout.write(HELP);
} else {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}

async function main(): Promise<void> {
  const events = readCount('events', options.events, options.quick ? 50_000 : 1_000_000);
  const plan = {
    rounds: readCount('rounds', options.rounds, options.quick ? 2 : 5),
    roundMs: options.quick ? 300 : 2000,
  };
  const available = dataSets(events).filter((set) => !options.quick || set.name === 'community');
  const sets = chooseSets(available, options.only ?? []);
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort());

  const folder = await mkdtemp(join(tmpdir(), 'corkboard-bench-'));
  const circumstances = renderCircumstances(readVersion(), plan.rounds);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  try {
    const results: DataSetResult[] = [];
    for (const set of sets) {
      const place = join(folder, set.name);
      await mkdir(place);
      const result = await measureDataSet(set, place, { ...plan, signal: controller.signal }, say);
      if (result === undefined) say(`${set.title}: not here, left out`);
      else results.push(result);
      await rm(place, { recursive: true });
    }
    const report = `${circumstances}\n${renderResults(results)}`;
    process.stdout.write(`\n${report}`);
    if (!options.quick && !options.only) await writeFile(RESULTS, `# Results\n${report}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Names of data sets choose among the sets, names of cases among the cases; none of a sort leaves all of it. */
function chooseSets(sets: readonly DataSet[], only: readonly string[]): DataSet[] {
  const setNames = new Set(sets.map((set) => set.name));
  const caseNames = new Set(sets.flatMap((set) => set.cases.map((one) => one.name)));
  const unknown = only.find((name) => !setNames.has(name) && !caseNames.has(name));
  if (unknown !== undefined) {
    throw new Error(`--only ${unknown}: there is ${[...setNames, ...caseNames].join(', ')}.`);
  }
  const chooses = (name: string, among: Set<string>) =>
    only.includes(name) || !only.some((one) => among.has(one));
  return sets
    .filter((set) => chooses(set.name, setNames))
    .map((set) => ({ ...set, cases: set.cases.filter((one) => chooses(one.name, caseNames)) }));
}

function readCount(name: string, given: string | undefined, otherwise: number): number {
  if (given === undefined) return otherwise;
  const count = Number(given);
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`--${name} wants a whole number from 1.`);
  return count;
}

function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}
