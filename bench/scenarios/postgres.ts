/** The product over PostgreSQL beside the embedded store: the same data and questions, in turn. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bed, type Ground, openBed, type Plan, prepareGround } from '../bed.ts';
import { boardIds, writeIncrement } from '../community.ts';
import { countEvents, importFiles } from '../corkboard.ts';
import { download } from '../curl.ts';
import { type MemoryAboveIdle, measureAboveIdle } from '../memory.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { measureRounds, type Outcome, ratioOf } from '../rounds.ts';
import { bytes, duration, rate, ratio } from '../table.ts';

const INCREMENT_EVENTS = 1_000;
const ROUNDS = 3;
const CONNECTIONS = 16;
/** Few enough for any cache. */
const SAME_BOARDS = 16;

type Figure = 'startMs' | 'firstExportMs' | 'exportMs' | 'anew' | 'given';
type Outcomes = readonly [embedded: Outcome<Figure>, postgres: Outcome<Figure>];

/** One way to serve the data. */
interface Way {
  readonly ground: Ground;
  readonly options: readonly string[];
}

export async function measurePostgres(
  plan: Plan,
  about: Pick<Ground, 'title' | 'community' | 'folder' | 'firstPath'>,
  bundle: string,
): Promise<void> {
  const { report, signal } = plan;
  report.say(`${about.title} over PostgreSQL: importing`);
  let database: Postgres;
  try {
    database = await startPostgres(signal);
  } catch (error) {
    report.remark(`Nothing was measured over PostgreSQL: ${error instanceof Error ? error.message : error}`);
    return;
  }
  await using _ = database;
  const embedded = await prepareGround(about, [bundle], signal);
  const remote = await prepareGround(about, [bundle], signal, database.url);
  const events = await countEvents(embedded.ground.dataDir, signal);
  const same = (await countEvents(database.url, signal)) === events;
  report.check(about.title, 'PostgreSQL holds as many events as the embedded store', same);
  addTimes(plan, about.title, 'import, events/s', events, embedded.elapsedMs, remote.elapsedMs);
  const grounds = [embedded.ground, remote.ground].map((ground) => ({
    ...ground,
    community: { ...ground.community, events },
  })) as [Ground, Ground];
  await measureServed(plan, grounds, database);
  await measureIncrement(plan, grounds);
}

/** The data are changed by it, so it comes last. */
async function measureIncrement(plan: Plan, [embedded, remote]: readonly [Ground, Ground]): Promise<void> {
  // Only the invented community can be continued.
  if (embedded.community.users === 0) return;
  const file = join(embedded.folder, 'events-more.csv');
  await writeIncrement(file, embedded.community, INCREMENT_EVENTS);
  const one = await importFiles([file], embedded.dataDir, plan.signal);
  const other = await importFiles([file], remote.dataDir, plan.signal);
  const times = [one.elapsedMs, other.elapsedMs] as const;
  addRow(plan, embedded.title, `import of ${INCREMENT_EVENTS.toLocaleString('en')} more`, {
    ratio: times[0] / times[1],
    cells: times.map(duration),
  });
  await rm(file);
}

async function measureServed(plan: Plan, grounds: readonly Ground[], database: Postgres): Promise<void> {
  const straight = ['--resident-limit', '0'];
  const ways = [[], straight].flatMap((options) => grounds.map((ground): Way => ({ ground, options })));
  const { title } = grounds[0]!;
  plan.report.say(`${title} over PostgreSQL: serving`);
  const rounds = { count: Math.min(ROUNDS, plan.rounds), warm: true };
  const outcomes = await measureRounds(ways, rounds, (way) => measureWay(plan, way));
  const [resident, direct] = [outcomes.slice(0, 2), outcomes.slice(2)] as unknown as [Outcomes, Outcomes];
  const { events, boards } = grounds[0]!.community;
  addDurations(plan, title, 'start to first answer, from memory', 'startMs', resident);
  addDurations(plan, title, 'start to first answer, straight', 'startMs', direct);
  for (const [name, what] of [
    ['firstExportMs', 'first export'],
    ['exportMs', 'export again'],
  ] as const) {
    addExports(plan, title, `${what} from memory, events/s`, name, events, resident);
    addExports(plan, title, `${what}, straight, events/s`, name, events, direct);
  }
  for (const [where, options] of [
    ['from memory', []],
    ['straight', straight],
  ] as const) {
    await addMemory(plan, grounds, `memory above idle of an export, ${where}`, options, database);
  }
  if (boards < SAME_BOARDS) return;
  addRates(plan, title, 'boards/s anew, from memory', 'anew', resident);
  addRates(plan, title, 'boards/s given before, from memory', 'given', resident);
  addRates(plan, title, 'boards/s anew, straight', 'anew', direct);
}

/** On a fresh server. */
async function measureWay(plan: Plan, { ground, options }: Way): Promise<Record<Figure, number>> {
  const startMs = performance.now();
  await using bed = await openBed(ground, plan.signal, '--workers', '1', ...options);
  const figures = { startMs: performance.now() - startMs };
  const first = await download(exportOf(bed, plan.signal));
  // The second time it is kept, the third time it comes from there.
  await download(exportOf(bed, plan.signal));
  const again = await download(exportOf(bed, plan.signal));
  const times = { ...figures, firstExportMs: first.totalMs, exportMs: again.totalMs };
  const boards = boardIds(ground.community).map((board) => `/a/v1/events/board/${board}`);
  if (boards.length < SAME_BOARDS) return { ...times, anew: 0, given: 0 };
  return {
    ...times,
    anew: await loadBoards(plan, bed, boards),
    given: await loadBoards(plan, bed, boards.slice(0, SAME_BOARDS)),
  };
}

async function loadBoards(plan: Plan, bed: Bed, paths: readonly string[]): Promise<number> {
  const { requestsPerSecond } = await plan.client.measure({
    ...{ port: bed.server.port, headers: bed.product.headers, paths, first: 0 },
    ...{ status: 200, leastBytes: 0, connections: CONNECTIONS, seconds: plan.seconds },
  });
  return requestsPerSecond;
}

async function addMemory(
  plan: Plan,
  grounds: readonly Ground[],
  what: string,
  options: readonly string[],
  database: Postgres,
): Promise<void> {
  const found: (MemoryAboveIdle | undefined)[] = [];
  for (const [index, ground] of grounds.entries()) {
    for (const roots of index === 0 ? [[]] : [[], [database.pid]]) {
      await using bed = await openBed(ground, plan.signal, '--workers', '1', ...options);
      const work = () => download(exportOf(bed, plan.signal));
      found.push(await measureAboveIdle([bed.server.pid, ...roots], work));
    }
  }
  const [own, alone, withDatabase] = found.map((memory) => memory?.sampledBytes);
  addRow(plan, grounds[0]!.title, what, {
    ratio: own && alone && alone / own,
    cells: [bytes(own), `${bytes(alone)} / ${bytes(withDatabase)}`],
  });
}

function exportOf(bed: Bed, signal: AbortSignal) {
  const { port, headers } = bed.product;
  return {
    url: `http://127.0.0.1:${port}/a/v1/events`,
    headers: { ...headers, 'accept-encoding': 'identity' },
    signal,
  };
}

function addTimes(plan: Plan, title: string, what: string, events: number, ...times: number[]): void {
  const [embedded = 0, postgres = 0] = times;
  const cells = times.map((ms) => `${rate((events / ms) * 1000)}, ${duration(ms)}`);
  addRow(plan, title, what, { ratio: embedded / postgres, cells });
}

function addDurations(plan: Plan, title: string, what: string, name: Figure, outcomes: Outcomes): void {
  const cells = outcomes.map(({ median }) => duration(median[name]));
  addRow(plan, title, what, { ratio: ratioOf(outcomes[0], outcomes[1], name), cells });
}

function addExports(
  plan: Plan,
  title: string,
  what: string,
  name: Figure,
  events: number,
  outcomes: Outcomes,
): void {
  const cells = outcomes.map(
    ({ median }) => `${rate((events / median[name]) * 1000)}, ${duration(median[name])}`,
  );
  addRow(plan, title, what, { ratio: ratioOf(outcomes[0], outcomes[1], name), cells });
}

function addRates(plan: Plan, title: string, what: string, name: Figure, outcomes: Outcomes): void {
  const cells = outcomes.map(({ median }) => rate(median[name]));
  addRow(plan, title, what, { ratio: ratioOf(outcomes[1], outcomes[0], name), cells });
}

function addRow(
  plan: Plan,
  title: string,
  what: string,
  row: { readonly ratio: number | undefined; readonly cells: readonly string[] },
): void {
  plan.report.addRow('postgres', title, what, ratio(row.ratio), ...row.cells);
  plan.report.setFigure(`${title}/postgres/${what}`, row.ratio);
}
