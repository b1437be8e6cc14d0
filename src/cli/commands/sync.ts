/**
 * `corkboard sync`: keeps a copy of what a key can see in a database (decision 90), or in Parquet
 * files in a folder (decision 96) or a bucket (decision 103).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { shortened } from '../../domain/shortened-text.ts';
import type { CopyTarget } from '../../sync/copy-target.ts';
import type { SyncSource } from '../../sync/source.ts';
import type { SyncCounts } from '../../sync/sync.ts';
import {
  checkSourceUrl,
  keyFileOption,
  keyInputOption,
  readSourceKey,
  type SourceKeyOptions,
} from '../process/source-key.ts';
import { addExamples } from '../terminal/examples.ts';
import { readDuration } from '../terminal/options.ts';
import { countOf, type JsonOption, print, remark, renderJson } from '../terminal/output.ts';

interface SyncCommandOptions extends JsonOption, SourceKeyOptions {
  readonly to: string;
  readonly schema: string;
  readonly grant?: string;
  readonly points: boolean;
  readonly zone?: readonly string[];
  readonly every?: number;
}

interface SyncReport extends SyncCounts {
  readonly seconds: number;
}

const KEY_VARIABLE = 'CORKBOARD_SYNC_KEY';
const PROGRESS_MS = 5_000;
/** Of errors of the server, which chooses their text. */
const LONGEST_REASON = 200;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const SEVERAL_VERSIONS =
  'The server has published new versions faster than they can be read, so the tables may not show the same one. The next run reads them again. To read less, leave points out (--no-points).';

export function addSyncCommand(program: Command): void {
  const command = program
    .command('sync')
    .summary('Keep a copy of the data of a server in a database or in Parquet files.')
    .description(
      'Copy the events, users, boards and points that a key can see on a Corkboard server into a database (DuckDB, SQLite or PostgreSQL) or into Parquet files in a folder or in a bucket of an S3-compatible store. The first run copies everything, later ones only what has changed, including corrections, deletions and erasures. Each run is one transaction: a run that fails or is killed changes nothing, or the next one completes it. docs/sync.md describes the tables, views and files.',
    )
    .argument('<url>', 'base URL of a variant, the part before /v1/events, like https://data.example.org/a')
    .requiredOption(
      '--to <target>',
      'duckdb:FILE, sqlite:FILE, parquet:FOLDER, s3://BUCKET/PREFIX or postgres://user@host/database; keep passwords in PGPASSWORD or a PGPASSFILE, and credentials of buckets in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or in ~/.aws',
    )
    .option('--schema <name>', 'schema of the tables in PostgreSQL', readSchema, 'community')
    .option(
      '--grant <role>',
      'let this role of PostgreSQL read the tables and views; give it with every run, so that those that are made again can be read as well',
    )
    .option(
      '--zone <name>',
      'add views with the local days and hours of this time zone, by the rules of the server; can be repeated, and give all with every run',
      readZoneName,
    )
    .option('--no-points', 'leave the table of points empty; reads nothing about points')
    .option(
      '--every <time>',
      'repeat after this time, like 5m or 1h, until a signal ends the command',
      readDuration,
    )
    .addOption(keyFileOption(KEY_VARIABLE))
    .addOption(keyInputOption())
    .option('--json', 'print one JSON object for each run')
    .action(async (url: string, options: SyncCommandOptions) => {
      checkSourceUrl(url);
      await syncFrom(url, options);
    });
  addExamples(command, [
    'corkboard sync https://data.example.org/a --to duckdb:school.duckdb --key-file school.key',
    'corkboard sync https://data.example.org/a --to postgres://etl@db/warehouse --every 5m --key-file school.key',
    'corkboard sync https://data.example.org/a --to parquet:school --key-file school.key',
    "corkboard sync https://data.example.org/a --to 's3://lake/school?region=eu-central-1' --key-file school.key",
  ]);
}

/** They are texts in the definitions of views. */
function readZoneName(text: string, others: readonly string[] = []): readonly string[] {
  if (!/^[A-Za-z][\w+/-]{0,99}$/.test(text))
    throw new InvalidArgumentError('It has to be a name like Europe/Vienna.');
  return [...others, text];
}

/** Names that PostgreSQL stores as they are written. */
function readSchema(text: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(text)) return text;
  throw new InvalidArgumentError('A schema has lower-case letters, digits and underscores.');
}

async function syncFrom(url: string, options: SyncCommandOptions): Promise<void> {
  const key = await readSourceKey(options, KEY_VARIABLE);
  const { openSource } = await import('../../sync/source.ts');
  const { openTarget } = await import('../../sync/targets/open-target.ts');
  const ending = new AbortController();
  const end = () => ending.abort();
  for (const signal of SIGNALS) process.once(signal, end);
  const { signal } = ending;
  const asked = { points: options.points, onMissing: tellMissing };
  const source = openSource(url, key, { signal, retry: { onRetry: tellRetry }, ...asked });
  // New files are readable by their owner only, except in a Parquet folder that others can read.
  const umask = process.umask(0o077);
  try {
    const open = async () => {
      // With every run, because the rules of the server can have changed.
      const zones = await Promise.all([...new Set(options.zone)].map((name) => source.zone(name)));
      return await openTarget(options.to, { ...options, zones, lock: { onWait: tellWait } });
    };
    await syncRepeatedly(source, open, options, signal);
  } catch (error) {
    // The transaction was rolled back.
    if (!signal.aborted) throw error;
    if (options.every === undefined) process.exitCode = 1;
  } finally {
    process.umask(umask);
    for (const name of SIGNALS) process.off(name, end);
  }
}

async function syncRepeatedly(
  source: SyncSource,
  open: () => Promise<CopyTarget>,
  options: SyncCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const { passes } = await import('../../sync/source.ts');
  for (;;) {
    try {
      const target = await open();
      // Between two runs, others can use the target.
      await syncOnce(source, target, options).finally(() => target.close());
    } catch (error) {
      if (options.every === undefined || !passes(error) || !(error instanceof Error)) throw error;
      remark(error.message);
    }
    if (options.every === undefined) return;
    await pause(options.every, undefined, { signal });
  }
}

async function syncOnce(source: SyncSource, target: CopyTarget, options: SyncCommandOptions): Promise<void> {
  const { sync } = await import('../../sync/sync.ts');
  const startMs = performance.now();
  let toldMs = startMs;
  const counts = await sync(source, target, (events) => {
    const nowMs = performance.now();
    if (nowMs - toldMs < PROGRESS_MS) return;
    toldMs = nowMs;
    const rate = Math.round((events / (nowMs - startMs)) * 1000);
    remark(`${countOf(events, 'event')} so far, ${rate.toLocaleString('en')}/s`);
  });
  if (counts.severalVersions) remark(SEVERAL_VERSIONS);
  const report = { ...counts, seconds: Math.round(performance.now() - startMs) / 1000 };
  print(options.json ? renderJson(report, 0) : renderReport(report));
}

function tellMissing(list: string): void {
  remark(`The server shows no ${list} beside this URL, so the table "${list}" is empty.`);
}

function tellWait(silenceMs: number): void {
  remark(
    `Waiting for up to ${silenceMs / 1000} s: the bucket is locked. If the run with the lock was killed, this one continues.`,
  );
}

function tellRetry({ error, pauseMs }: { readonly error: Error; readonly pauseMs: number }): void {
  remark(`Waiting ${Math.ceil(pauseMs / 1000)} s: ${shortened(error.message, LONGEST_REASON)}`);
}

function renderReport({
  startedAnew,
  events,
  deletedEvents,
  erasedUsers,
  users,
  boards,
  points,
  seconds,
}: SyncReport) {
  const parts = [
    events > 0 && `${countOf(events, 'event')} ${startedAnew ? 'copied' : 'added or replaced'}`,
    deletedEvents > 0 && `${countOf(deletedEvents, 'event')} deleted`,
    erasedUsers > 0 && `${countOf(erasedUsers, 'user')} erased`,
    users !== undefined && countOf(users, 'user'),
    boards !== undefined && countOf(boards, 'board'),
    points !== undefined && countOf(points, 'points total'),
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'Nothing has changed.' : `${parts.join(', ')} (${seconds.toFixed(1)} s)`;
}
