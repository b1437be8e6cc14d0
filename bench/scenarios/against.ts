/** Compares this checkout with a different one on the same data: the effect of a change. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Bed, type Ground, isLarge, openBed, type Plan } from '../bed.ts';
import { boardIds, writeIncrement } from '../community.ts';
import { importFiles, makeKey, ORGANIZATION, type Program, THIS } from '../corkboard.ts';
import { download } from '../curl.ts';
import { settledPss } from '../memory.ts';
import { measureRounds, type Outcome, ratioOf } from '../rounds.ts';
import { bytes, duration, rate, ratio } from '../table.ts';
import type { Bundle } from './stores.ts';

const INCREMENT_EVENTS = 1_000;
const CONNECTIONS = 16;
const SAME_BOARDS = 16;
/** The rate grows by a third within four seconds, and then no longer. */
const WARM_SECONDS = 8;
/** After this long, a server has written a memory image of 10 M events for its next start. */
const IMAGE_MS = 120_000;
/** How long an export is repeated. */
const REPEAT_MS = 3_000;
const EXPORT = '/a/v1/events';

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
  const outcomes = await measureRounds([THIS, against], rounds, async (program, round) => {
    plan.report.say(`${data.title}, ${program === THIS ? 'this checkout' : 'the other'}, round ${round}`);
    return await measureProgram(plan, data, program, more);
  });
  addRows(plan, data.title, outcomes);
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

async function measureProgram(plan: Plan, data: Bundle, program: Program, more: string): Promise<Figures> {
  const { signal } = plan;
  const dataDir = join(data.folder, 'data');
  await mkdir(dataDir);
  const imported = await importFiles([data.bundle], dataDir, signal, ORGANIZATION, program);
  const key = await makeKey(dataDir, signal, [], program);
  const served = await measureServed(plan, { ...data, dataDir, key, program });
  const added = await importFiles([more], dataDir, signal, ORGANIZATION, program);
  await rm(dataDir, { recursive: true });
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
  const boards = boardIds(ground.community).map((board) => `/a/v1/events/board/${board}`);
  const same = boards.slice(0, SAME_BOARDS);
  if (isLarge(ground)) await pause(Math.max(0, startMs + IMAGE_MS - performance.now()));
  // Not counted: a new process compiles its code for some seconds.
  for (const paths of [boards, same]) await loadBoards(plan, bed, paths, WARM_SECONDS);
  return {
    'start to the first answer': start,
    'memory at rest': atRest,
    ...exports,
    'insights, activity': insights,
    'boards rendered each time/s': await loadBoards(plan, bed, boards),
    'boards given before/s': await loadBoards(plan, bed, same),
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

async function loadBoards(
  plan: Plan,
  bed: Bed,
  paths: readonly string[],
  seconds = 2 * plan.seconds,
): Promise<number> {
  const { requestsPerSecond } = await plan.client.measure({
    ...{ port: bed.server.port, headers: bed.product.headers, paths, first: 0 },
    ...{ status: 200, leastBytes: 0, connections: CONNECTIONS, seconds },
  });
  return requestsPerSecond;
}
