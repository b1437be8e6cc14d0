/** Compares this checkout with a different one on the same data: the effect of a change. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Bed, type Ground, isLarge, openBed, type Plan } from '../bed.ts';
import { writeIncrement } from '../community.ts';
import { importFiles, makeKey, ORGANIZATION, type Program, THIS } from '../corkboard.ts';
import { download, downloadForever } from '../curl.ts';
import type { LoadFigures } from '../load.ts';
import { settledPss } from '../memory.ts';
import { questionsOf } from '../questions.ts';
import { measureRounds, type Outcome, outcomeOf, ratioOf } from '../rounds.ts';
import { bytes, duration, rate, ratio } from '../table.ts';
import type { Bundle } from './stores.ts';

const INCREMENT_EVENTS = 1_000;
const CONNECTIONS = 16;
const SAME_BOARDS = 16;
/** Measurements of small requests after each start, for each server. */
const TURNS = 5;
/** The rate grows by a third within four seconds, and then no longer. */
const WARM_SECONDS = 8;
/** After this long, a server has written a memory image of 10 M events for its next start. */
const IMAGE_MS = 120_000;
/** How long an export is repeated. */
const REPEAT_MS = 3_000;
const EXPORT = '/a/v1/events';
const EXPORTS = 10;
const FORMS = ['application/json', 'application/x-ndjson', 'text/csv'] as const;

interface Checkout {
  readonly name: string;
  readonly program: Program;
  readonly dataDir: string;
}

type Figures = Readonly<Record<string, number>>;
type Kind = 'time' | 'rate' | 'memory';

const SHOW: Readonly<Record<Kind, (value: number | undefined) => string>> = {
  time: duration,
  rate,
  memory: bytes,
};

export async function measureAgainst(plan: Plan, data: Bundle, against: Program): Promise<void> {
  const more = join(data.folder, 'events-more.csv');
  await writeIncrement(more, data.community, INCREMENT_EVENTS);
  const rounds = { count: isLarge(data) ? Math.min(2, plan.rounds) : plan.rounds, warm: isLarge(data) };
  const checkouts: Checkout[] = [
    { name: 'this checkout', program: THIS, dataDir: join(data.folder, 'data-this') },
    { name: 'the other', program: against, dataDir: join(data.folder, 'data-other') },
  ];
  const alone = await measureRounds(checkouts, rounds, async (checkout, round) => {
    plan.report.say(`${data.title}, ${checkout.name}, round ${round}`);
    return await measureAlone(plan, data, checkout, more);
  });
  addRows(plan, data.title, alone);
  const grounds: Ground[] = [];
  for (const { program, dataDir } of checkouts) {
    grounds.push({ ...data, program, dataDir, key: await makeKey(dataDir, plan.signal, [], program) });
  }
  addRows(plan, data.title, await measureSmallOfBoth(plan, grounds, rounds.count));
}

function addRows(plan: Plan, title: string, outcomes: readonly Outcome<string>[]): void {
  const [own, other] = outcomes;
  for (const name of Object.keys(own?.median ?? {})) {
    const kind: Kind = name.endsWith('/s') ? 'rate' : name.startsWith('memory') ? 'memory' : 'time';
    const [more, less] = kind === 'rate' ? [own, other] : [other, own];
    const ratios = more!.rounds.map((round, index) => round[name]! / less!.rounds[index]![name]!);
    const show = SHOW[kind];
    plan.report.addRow(
      'against',
      ...[title, name, ratio(ratioOf(more, less, name)), ratio(Math.min(...ratios))],
      ...[ratio(Math.max(...ratios)), show(own?.median[name]), show(other?.median[name])],
    );
  }
}

/** Imports into a new folder, which is left with the data. */
async function measureAlone(
  plan: Plan,
  data: Bundle,
  { program, dataDir }: Checkout,
  more: string,
): Promise<Figures> {
  const { signal } = plan;
  await rm(dataDir, { recursive: true, force: true });
  await mkdir(dataDir);
  const imported = await importFiles([data.bundle], dataDir, signal, ORGANIZATION, program);
  const key = await makeKey(dataDir, signal, [], program);
  const served = await measureServed(plan, { ...data, dataDir, key, program });
  const added = await importFiles([more], dataDir, signal, ORGANIZATION, program);
  const imports = { import: imported.elapsedMs, 'import of 1,000 more': added.elapsedMs };
  return { ...imports, 'memory of an import': imported.peakBytes ?? 0, ...served };
}

async function measureServed(plan: Plan, ground: Ground): Promise<Figures> {
  const startMs = performance.now();
  await using bed = await openBed(ground, plan.signal, '--workers', '1');
  const start = performance.now() - startMs;
  const atRest = (await settledPss([bed.server.pid])) ?? 0;
  const fetchAs = (headers: Readonly<Record<string, string>>, path = EXPORT) =>
    download({
      url: `http://127.0.0.1:${bed.product.port}${path}`,
      headers: { ...bed.product.headers, 'accept-encoding': 'identity', ...headers },
      signal: plan.signal,
    }).then(({ totalMs }) => totalMs);
  const exports: Record<string, number> = {};
  const ways = {
    plain: {},
    gzip: { 'accept-encoding': 'gzip' },
    zstd: { 'accept-encoding': 'zstd' },
    // Earlier checkouts take more memory for a file of 10 M events than most machines have.
    ...(!isLarge(ground) && { parquet: { accept: 'application/vnd.apache.parquet' } }),
  };
  for (const [name, headers] of Object.entries(ways)) {
    exports[`${name} export, first time`] = await fetchAs(headers);
    // A response that is cached at the second time comes from the cache at the third time.
    await fetchAs(headers);
    exports[`${name} export again`] = await minimumOf(() => fetchAs(headers));
  }
  const insights = await fetchAs({}, '/insights/v1/activity');
  return {
    'start to the first answer': start,
    'memory at rest': atRest,
    ...exports,
    'insights, activity': insights,
  };
}

/** The minimum of repeated measurements: one short download in three takes 50 % longer. */
async function minimumOf(measure: () => Promise<number>): Promise<number> {
  const endMs = performance.now() + REPEAT_MS;
  let leastMs = Number.POSITIVE_INFINITY;
  do leastMs = Math.min(leastMs, await measure());
  while (performance.now() < endMs);
  return leastMs;
}

/**
 * Small requests to both servers, which run at the same time and are measured in turn: the speed of
 * a shared machine changes within a minute by more than they differ. Repeated, because starts of
 * one server differ, too.
 */
async function measureSmallOfBoth(
  plan: Plan,
  grounds: readonly Ground[],
  starts: number,
): Promise<Outcome<string>[]> {
  const rounds: Figures[][] = grounds.map(() => []);
  for (let start = 1; start <= starts; start++) {
    plan.report.say(`${grounds[0]!.title}, small requests to both in turn, start ${start}`);
    await using servers = new AsyncDisposableStack();
    const beds: Bed[] = [];
    for (const ground of grounds) {
      beds.push(servers.use(await openBed(ground, plan.signal, '--workers', '1')));
    }
    if (isLarge(grounds[0]!)) await pause(IMAGE_MS);
    for (const [index, figures] of (await measureInTurn(plan, beds)).entries()) rounds[index]!.push(figures);
  }
  return rounds.map(outcomeOf);
}

/** The medians of each server, by name. */
async function measureInTurn(plan: Plan, beds: readonly Bed[]): Promise<Figures[]> {
  const { community } = beds[0]!;
  const boards = questionsOf('board', community);
  const loads: readonly (readonly [name: string, paths: readonly string[]])[] = [
    ['boards rendered each time', boards],
    ['users rendered each time', questionsOf('user', community)],
    ['windows rendered each time', questionsOf('window', community)],
    ['boards given before', boards.slice(0, SAME_BOARDS)],
  ];
  const medians: Record<string, number>[] = beds.map(() => ({}));
  for (const [name, paths] of loads) {
    const turns = await measureRounds(beds, { count: TURNS, warm: false }, async (bed, turn) => {
      // A new process compiles its code for some seconds.
      const seconds = turn === 0 ? WARM_SECONDS : 2 * plan.seconds;
      return { [`${name}/s`]: (await loadSmall(plan, bed, paths, seconds)).requestsPerSecond };
    });
    for (const [index, { median }] of turns.entries()) Object.assign(medians[index]!, median);
  }
  const beside = await measureBesideExports(plan, beds, boards);
  return medians.map((figures, index) => ({ ...figures, ...beside[index]!.median }));
}

/**
 * Boards while clients are the first to request an export with gzip. Each turn has a form of its
 * own, so that it is compressed again.
 */
async function measureBesideExports(
  plan: Plan,
  beds: readonly Bed[],
  paths: readonly string[],
): Promise<Outcome<string>[]> {
  const { signal } = plan;
  return await measureRounds(beds, { count: FORMS.length, warm: true }, async (bed, turn) => {
    const { port, headers: own } = bed.product;
    const headers = { ...own, accept: FORMS[turn - 1]!, 'accept-encoding': 'gzip' };
    await using _exports = downloadForever(
      { url: `http://127.0.0.1:${port}${EXPORT}`, headers, signal },
      EXPORTS,
    );
    const { requestsPerSecond, p99Ms } = await loadSmall(plan, bed, paths, 2 * plan.seconds);
    return {
      'boards beside the first gzip exports/s': requestsPerSecond,
      'p99 of boards beside them': p99Ms,
    };
  });
}

async function loadSmall(
  plan: Plan,
  bed: Bed,
  paths: readonly string[],
  seconds: number,
): Promise<LoadFigures> {
  return await plan.client.measure({
    ...{ port: bed.server.port, headers: bed.product.headers, paths, first: 0 },
    ...{ status: 200, leastBytes: 0, connections: CONNECTIONS, seconds },
  });
}
