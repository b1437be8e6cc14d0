/**
 * Copies in databases and in Parquet files, as `corkboard sync` makes them: the first run, and one
 * after a few more events, compared with curl, which discards the same events.
 */
import { randomUUID } from 'node:crypto';
import { globSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startBucket, type TestBucket } from '../../test/s3/server.ts';
import { type Bed, copyGround, type Ground, isLarge, openBed, type Plan, untilTaken } from '../bed.ts';
import { writeIncrement } from '../community.ts';
import { importFiles, runCorkboard, THIS } from '../corkboard.ts';
import { download } from '../curl.ts';
import { dropDatabase, makeDatabase, measureSchema, type Postgres, startPostgres } from '../postgres.ts';
import { readEntityTag } from '../site.ts';
import { median } from '../statistics.ts';
import { bytes, duration, rate, ratio } from '../table.ts';

const INCREMENT_EVENTS = 1_000;
const PATH = '/a/v1/events';
const SCHEMA = 'community';
const MOST_ROUNDS = 3;

/** Where a copy can be. */
interface CopyKind {
  readonly name: string;
  make(folder: string): Promise<CopyPlace>;
}

interface CopyPlace {
  /** The value of `--to`. */
  readonly address: string;
  /** Environment variables for the command. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Absent if nothing tells. */
  bytes?(): Promise<number>;
  remove(): Promise<void>;
}

interface CopyFigures {
  /** How long curl takes for all events, in the same round. */
  readonly curlMs: number;
  readonly firstMs: number;
  readonly firstPeakBytes: number;
  readonly moreMs: number;
  readonly morePeakBytes: number;
  readonly copyBytes: number | undefined;
}

export async function measureSync(ground: Ground, plan: Plan): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const bucket = await startBucket();
  stack.defer(() => bucket.close());
  const kinds = [fileKind('DuckDB', 'duckdb'), fileKind('SQLite', 'sqlite'), fileKind('Parquet', 'parquet')];
  kinds.push(bucketKind(bucket));
  try {
    kinds.push(postgresKind(stack.use(await startPostgres(plan.signal))));
  } catch (error) {
    plan.report.remark(`No copy in PostgreSQL: ${error instanceof Error ? error.message : error}`);
  }
  const copy = await copyGround(ground, 'sync-data');
  stack.defer(() => rm(copy.dataDir, { recursive: true }));
  const rounds: CopyFigures[][] = [];
  {
    await using bed = await openBed(copy, plan.signal);
    const count = isLarge(ground) ? 1 : Math.min(MOST_ROUNDS, plan.rounds);
    for (let round = 0; round < count; round++) {
      plan.report.say(`${ground.title}: copies in databases, round ${round + 1}`);
      rounds.push(await measureRound(bed, kinds, round, plan.signal));
    }
  }
  for (const [at, { name }] of kinds.entries()) {
    addCopy(
      plan,
      ground,
      name,
      rounds.map((figures) => figures[at]!),
    );
  }
}

function addCopy(
  { report }: Plan,
  { title, community }: Ground,
  kind: string,
  rounds: readonly CopyFigures[],
): void {
  const middle = (value: (figures: CopyFigures) => number) => median(rounds.map(value));
  const toCurl = (name: 'firstMs' | 'moreMs') => ratio(middle((figures) => figures[name] / figures.curlMs));
  const firstMs = middle(({ firstMs }) => firstMs);
  const firstPeakBytes = middle((figures) => figures.firstPeakBytes);
  const moreMs = middle((figures) => figures.moreMs);
  const copyBytes = rounds[0]?.copyBytes;
  report.addRow(
    'sync',
    ...[title, kind, duration(middle(({ curlMs }) => curlMs)), duration(firstMs), toCurl('firstMs')],
    ...[rate((community.events / firstMs) * 1000), bytes(firstPeakBytes), duration(moreMs), toCurl('moreMs')],
    ...[bytes(middle(({ morePeakBytes }) => morePeakBytes)), bytes(copyBytes)],
  );
  report.setFigure(`${title}/sync/${kind}/ms`, firstMs);
  report.setFigure(`${title}/sync/${kind}/peak/bytes`, firstPeakBytes);
  report.setFigure(`${title}/sync/${kind}/1,000 more/ms`, moreMs);
  report.setFigure(`${title}/sync/${kind}/copy/bytes`, copyBytes);
}

/** New copies of each kind, and then one publication for all of them. */
async function measureRound(
  bed: Bed,
  kinds: readonly CopyKind[],
  round: number,
  signal: AbortSignal,
): Promise<CopyFigures[]> {
  const folder = join(bed.folder, 'copies');
  await mkdir(folder);
  const curlMs = await measureCurl(bed, signal);
  const places: CopyPlace[] = [];
  const firsts = [];
  for (const kind of kinds) {
    const place = await kind.make(folder);
    places.push(place);
    firsts.push(await runSync(bed, place, signal));
  }
  await publishMore(bed, round, signal);
  const figures: CopyFigures[] = [];
  for (const [at, place] of places.entries()) {
    const [first, more] = [firsts[at]!, await runSync(bed, place, signal)];
    figures.push({
      ...{ curlMs, firstMs: first.elapsedMs, firstPeakBytes: first.peakBytes ?? 0 },
      ...{ moreMs: more.elapsedMs, morePeakBytes: more.peakBytes ?? 0, copyBytes: await place.bytes?.() },
    });
    await place.remove();
  }
  await rm(folder, { recursive: true });
  return figures;
}

/** The second of two, because the first one of a version has to be rendered. */
async function measureCurl({ product }: Bed, signal: AbortSignal): Promise<number> {
  const url = `http://127.0.0.1:${product.port}${PATH}`;
  const headers = { ...product.headers, accept: 'application/x-ndjson' };
  await download({ url, headers, signal });
  return (await download({ url, headers, signal })).totalMs;
}

function runSync({ product, key }: Bed, { address, environment }: CopyPlace, signal: AbortSignal) {
  const args = ['sync', `http://127.0.0.1:${product.port}/a`, '--to', address, '--schema', SCHEMA, '--json'];
  return runCorkboard(args, signal, {
    ...THIS,
    environment: { ...environment, CORKBOARD_SYNC_KEY: key },
  });
}

async function publishMore(bed: Bed, number: number, signal: AbortSignal): Promise<void> {
  const file = join(bed.folder, 'events-to-copy.csv');
  await writeIncrement(file, bed.community, INCREMENT_EVENTS, { number });
  const before = await readEntityTag(bed.product, PATH, signal);
  await importFiles([file], bed.dataDir, signal);
  await untilTaken(bed.product, before, signal);
  await rm(file);
}

function fileKind(name: string, scheme: string): CopyKind {
  return {
    name,
    async make(folder) {
      const path = join(folder, scheme);
      return {
        address: `${scheme}:${path}`,
        bytes: async () => fileBytesAt(path),
        remove: async () => undefined,
      };
    },
  };
}

/** Of a file and those beside it, or of a folder. */
function fileBytesAt(path: string): number {
  const files = globSync([`${path}*`, `${path}/**`]).filter((file) => statSync(file).isFile());
  return files.reduce((sum, file) => sum + statSync(file).size, 0);
}

/** On a server on this machine, which shares its cores. */
function bucketKind({ address, env }: TestBucket): CopyKind {
  return {
    name: 'bucket',
    async make() {
      const place = address.replace('?', `/${randomUUID()}?`);
      return { address: place, environment: env, remove: async () => undefined };
    },
  };
}

function postgresKind(database: Postgres): CopyKind {
  return {
    name: 'PostgreSQL',
    async make() {
      const address = await makeDatabase(database);
      return {
        address,
        bytes: () => measureSchema(address, SCHEMA),
        remove: () => dropDatabase(address, database),
      };
    },
  };
}
