/**
 * The same imports, starts and further imports with a folder, with PostgreSQL, and with PostgreSQL
 * and a bucket.
 */
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startBucket, type TestBucket } from '../../test/s3/server.ts';
import { askOnce, type Ground, isLarge, type Plan, untilTaken } from '../bed.ts';
import { writeIncrement } from '../community.ts';
import {
  importFiles,
  makeKey,
  ORGANIZATION,
  type Program,
  placeWords,
  runCorkboard,
  startCorkboard,
  THIS,
} from '../corkboard.ts';
import { dropDatabase, makeDatabase, type Postgres, startPostgres } from '../postgres.ts';
import { measureRounds, type Outcome, ratioOf } from '../rounds.ts';
import { readEntityTag, type Target } from '../site.ts';
import { duration, ratio } from '../table.ts';

const INCREMENT_EVENTS = 1_000;

type Figure = 'importMs' | 'moreMs' | 'takenUpMs' | 'emptyMs' | 'againMs';

export type Bundle = Pick<Ground, 'title' | 'community' | 'folder' | 'firstPath'> & {
  readonly bundle: string;
};

/** One way to store the data. */
interface Way {
  readonly name: string;
  readonly program: Program;
  readonly isShared: boolean;
  readonly bucket?: TestBucket;
}

interface Services {
  readonly database: Postgres;
  readonly bucket: TestBucket;
}

export async function measureStores(plan: Plan, data: Bundle, against: Program | undefined): Promise<void> {
  const { report, signal } = plan;
  let database: Postgres;
  try {
    database = await startPostgres(signal);
  } catch (error) {
    report.remark(`Nothing was measured over stores: ${error instanceof Error ? error.message : error}`);
    return;
  }
  await using _ = database;
  const bucket = await startBucket();
  try {
    await measureWays(plan, data, waysOf(against, bucket), { database, bucket });
  } finally {
    await bucket.close();
  }
}

function waysOf(against: Program | undefined, bucket: TestBucket): Way[] {
  const programs = against === undefined ? [THIS] : [THIS, against];
  return programs.flatMap((program): Way[] => {
    const other = program === THIS ? '' : ', the other checkout';
    const hasBuckets = existsSync(join(program.folder, 'src/store/chunks/s3-bucket.ts'));
    return [
      { name: `folder${other}`, program, isShared: false },
      { name: `PostgreSQL${other}`, program, isShared: true },
      ...(hasBuckets ? [{ name: `bucket${other}`, program, isShared: true, bucket }] : []),
    ];
  });
}

async function measureWays(
  plan: Plan,
  data: Bundle,
  ways: readonly Way[],
  services: Services,
): Promise<void> {
  const more = join(data.folder, 'events-more.csv');
  await writeIncrement(more, data.community, INCREMENT_EVENTS);
  const rounds = { count: isLarge(data) ? Math.min(2, plan.rounds) : plan.rounds, warm: isLarge(data) };
  const outcomes = await measureRounds(ways, rounds, async (way, round) => {
    plan.report.say(`${data.title}, ${way.name}, round ${round}`);
    return await measureWay(plan, data, way, { ...services, more });
  });
  const ms = (outcome: Outcome<Figure>, name: Figure) => duration(outcome.median[name] || undefined);
  for (const [index, way] of ways.entries()) {
    const outcome = outcomes[index]!;
    const isContinued = outcome.median.moreMs > 0;
    plan.report.addRow(
      'stores',
      ...[data.title, way.name, ms(outcome, 'importMs'), ratio(ratioOf(outcomes[0], outcome, 'importMs'))],
      ...[ms(outcome, 'moreMs'), ratio(isContinued ? ratioOf(outcomes[0], outcome, 'moreMs') : undefined)],
      ...[ms(outcome, 'takenUpMs'), ms(outcome, 'emptyMs'), ms(outcome, 'againMs')],
    );
  }
}

/** Uses a new store each time. The servers and the importer have separate caches, like machines. */
async function measureWay(
  plan: Plan,
  data: Bundle,
  way: Way,
  { database, more }: Services & { readonly more: string },
): Promise<Record<Figure, number>> {
  const { signal } = plan;
  const folder = join(data.folder, 'store');
  await mkdir(folder);
  const cacheOf = (machine: string): Program => ({
    ...way.program,
    environment: { ...way.bucket?.env, CORKBOARD_CACHE: join(folder, machine) },
  });
  const [importer, serving] = [cacheOf('importer'), cacheOf('server')];
  const place = way.isShared ? await makeDatabase(database) : join(folder, 'data');
  if (way.isShared) await migrate(place, way, importer, signal);
  else await mkdir(place);
  const imported = await importFiles([data.bundle], place, signal, ORGANIZATION, importer);
  const key = await makeKey(place, signal, [], importer);
  const emptyMs = await measureStart(place, serving, key, data.firstPath, signal);
  const againMs = await measureStart(place, serving, key, data.firstPath, signal);
  const continued = { moreMs: 0, takenUpMs: 0 };
  // Only the generated community can be continued.
  if (data.community.users > 0) {
    await using server = await startCorkboard(place, signal, {
      program: serving,
      options: ['--workers', '1'],
    });
    const product: Target = { name: 'corkboard', port: server.port, headers: { apikey: key } };
    await askOnce({ product, firstPath: data.firstPath }, signal);
    const before = await readEntityTag(product, '/a/v1/events', signal);
    continued.moreMs = (await importFiles([more], place, signal, ORGANIZATION, importer)).elapsedMs;
    continued.takenUpMs = await untilTaken(product, before, signal);
  }
  await rm(folder, { recursive: true });
  if (way.isShared) await dropDatabase(place, database);
  return { importMs: imported.elapsedMs, ...continued, emptyMs, againMs };
}

async function measureStart(
  place: string,
  program: Program,
  key: string,
  firstPath: string,
  signal: AbortSignal,
): Promise<number> {
  const startMs = performance.now();
  await using server = await startCorkboard(place, signal, { program, options: ['--workers', '1'] });
  const product: Target = { name: 'corkboard', port: server.port, headers: { apikey: key } };
  await askOnce({ product, firstPath }, signal);
  return performance.now() - startMs;
}

async function migrate(url: string, way: Way, program: Program, signal: AbortSignal): Promise<void> {
  const bucket = way.bucket === undefined ? [] : ['--bucket', bucketOf(url, way.bucket)];
  await runCorkboard(['migrate', ...placeWords(url), ...bucket], signal, program);
}

/** The bucket with a separate prefix for each database. */
function bucketOf(url: string, { address }: TestBucket): string {
  return address.replace('?', `${new URL(url).pathname}?`);
}
