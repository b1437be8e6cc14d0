/** The publications of an organization, as each version file records them (decision 83). */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import type { Cause, Changes, LocalTimeSpan, Outcome, PublishedVersion } from '../../store.ts';
import { text } from '../../stored-values.ts';
import { runRows } from '../database.ts';
import { hasHistory } from './schema.ts';

/** More files of an import are not recorded. */
const MOST_FILES = 20;

interface About extends Cause {
  readonly changes: Changes;
  readonly counts: Outcome['counts'];
  /** The version of the time zone rules with which its weeks of points were computed. */
  readonly zoneData: string;
  readonly localTimes: LocalTimeSpan;
}

/** Adds a publication to the history. */
export async function recordPublication(
  connection: DuckDBConnection,
  { publication, version, publishedMs }: Pick<PublishedVersion, 'publication' | 'version' | 'publishedMs'>,
  about: Partial<Cause & Pick<About, 'localTimes'>> & Pick<About, 'changes' | 'counts' | 'zoneData'>,
): Promise<void> {
  const files = about.files?.slice(0, MOST_FILES);
  await runRows(
    connection,
    'INSERT INTO publications VALUES ($publication, $version, $publishedMs, $about)',
    {
      ...{ publication: BigInt(publication), version, publishedMs: BigInt(publishedMs) },
      about: JSON.stringify({ ...about, ...(files === undefined ? {} : { files }) }),
    },
  );
}

/** The time zone rules of the latest publication; undefined if it does not tell. */
export async function readZoneData(connection: DuckDBConnection): Promise<string | undefined> {
  const [row] = await runRows(connection, 'SELECT about FROM publications ORDER BY publication DESC LIMIT 1');
  return aboutOf(row?.[0]).zoneData;
}

/**
 * The publications that a file of the given format records, in their order. `file`: the name under
 * which it is attached; absent: the one that is open.
 */
export async function readHistoryOf(
  ask: (sql: string) => Promise<DuckDBValue[][]>,
  format: number,
  file?: string,
): Promise<Omit<PublishedVersion, 'isKept'>[]> {
  if (!hasHistory(format)) return [];
  const table = file === undefined ? 'publications' : `${file}.publications`;
  const rows = await ask(
    `SELECT publication, version, published_ms, about FROM ${table} ORDER BY publication`,
  );
  return rows.map(historyOf);
}

/** A publication, its version, its time, and its `about`, which may be null. */
export function historyOf([publication, version, publishedMs, about]: readonly DuckDBValue[]): Omit<
  PublishedVersion,
  'isKept'
> {
  const { command, files, settings, restored, changes, counts, localTimes } = aboutOf(about);
  const cause =
    command === undefined
      ? undefined
      : { command, ...(files && { files }), ...(settings && { settings }), ...(restored && { restored }) };
  return {
    ...{ publication: Number(publication), version: text(version), publishedMs: Number(publishedMs) },
    ...{ cause, changes, counts, localTimes },
  };
}

function aboutOf(about: DuckDBValue | undefined): Partial<About> {
  return about === null || about === undefined ? {} : JSON.parse(text(about));
}
