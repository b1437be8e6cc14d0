/** Reads what a version has that an earlier one had not (decision 47). */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import type { ChangedPairs, ChangedRecords, DatasetChanges } from '../../../dataset/changes.ts';
import { joinFlags } from '../../../dataset/columns.ts';
import type { Dataset } from '../../../dataset/dataset.ts';
import { joinRecords, type RecordTable } from '../../../dataset/records.ts';
import type { EarningRows } from '../../../dataset/tables.ts';
import { slice } from '../../../system/time-slice.ts';
import { text } from '../../stored-values.ts';
import { type Database, joinedDoubles, joinedIntegers } from '../database.ts';
import { hasChanges } from '../publish/schema.ts';
import { MOST_CHANGES } from '../publish/version-changes.ts';
import { flagColumn, readRecords } from './records.ts';
import { earningRows } from './tables.ts';
import { readEventsSince } from './timeline.ts';

/**
 * Undefined if anything was deleted, if more has changed than is worth it, or if the file does not
 * tell. `after` is the later version.
 */
export async function readChanges(
  database: Database,
  format: number,
  before: Dataset,
  after: Pick<Dataset, 'version' | 'counts'>,
): Promise<DatasetChanges | undefined> {
  const { lastSequence } = before;
  if (after.counts.events - before.counts.events > MOST_CHANGES || !hasChanges(format)) return undefined;
  const publications = await publicationsBetween(database, before.version, after.version);
  if (publications === undefined) return undefined;
  const records = await readChangedRecords(database, format, lastSequence);
  if (records === undefined) return undefined;
  return {
    events: await readEventsSince(database, lastSequence),
    records,
    hasUsers: publications.some(({ hasUsers }) => hasUsers),
    pairs: await readChangedPairs(database, lastSequence),
  };
}

interface ChangingPublication {
  readonly before: string | undefined;
  readonly hasUsers: boolean;
}

/**
 * The publications that lead from one version to a later one. Undefined if there are none, or if
 * one of them does not list its pairs. Numbers of publications can occur twice in a file that
 * was restored, versions cannot.
 */
async function publicationsBetween(
  database: Database,
  from: string,
  to: string,
): Promise<readonly ChangingPublication[] | undefined> {
  const rows = await database.rows(
    'SELECT version, before, has_users FROM version_changes WHERE pairs IS NOT NULL',
  );
  const publications = new Map(
    rows.map(([version, before, hasUsers]) => [
      text(version),
      { before: before === null ? undefined : text(before), hasUsers: hasUsers === true },
    ]),
  );
  const found: ChangingPublication[] = [];
  for (let version = to; version !== from; ) {
    const publication = publications.get(version);
    if (publication?.before === undefined) return undefined;
    found.push(publication);
    version = publication.before;
  }
  return found.length === 0 ? undefined : found;
}

/** Pairs that publications after the sequence `$since` have changed, as the latest left them. */
const CHANGED_PAIRS = `
  FROM changed_pairs WHERE last_sequence > $since
  QUALIFY last_sequence = max(last_sequence) OVER (PARTITION BY board, person)`;

const PAIRS = `
  SELECT board, person, on_board, total_points IS NOT NULL, coalesce(total_points, 0)::DOUBLE,
    coalesce(participation_score, 0)::DOUBLE, imported
  FROM (${CHANGED_PAIRS}) ORDER BY board, person`;

const EARNINGS = `
  SELECT board, person, timestamp_ms::DOUBLE, points::DOUBLE
  FROM changed_earnings SEMI JOIN (${CHANGED_PAIRS}) USING (last_sequence, board, person)`;

async function readChangedPairs(database: Database, sequence: number): Promise<ChangedPairs> {
  const since = { since: BigInt(sequence) };
  const pairs = await database.chunks(PAIRS, since);
  const earnings: EarningRows[] = [];
  for await (const chunk of database.stream(EARNINGS, since)) earnings.push(earningRows(chunk));
  return {
    board: await joinedIntegers(pairs, 0),
    user: await joinedIntegers(pairs, 1),
    onBoard: await joinedFlags(pairs, 2),
    hasTotal: await joinedFlags(pairs, 3),
    totalPoints: await joinedDoubles(pairs, 4),
    participationScore: await joinedDoubles(pairs, 5),
    imported: await joinedFlags(pairs, 6),
    earnings,
  };
}

async function joinedFlags(chunks: readonly DuckDBDataChunk[], column: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const chunk of chunks) {
    if (slice.isOver()) await slice.pass();
    parts.push(flagColumn(chunk, column));
  }
  return await joinFlags(parts);
}

async function readChangedRecords(
  database: Database,
  format: number,
  sequence: number,
): Promise<DatasetChanges['records'] | undefined> {
  const users = await readChanged(database, 'users', format, sequence);
  const boards = await readChanged(database, 'boards', format, sequence);
  const pins = await readChanged(database, 'pins', format, sequence);
  if (users === undefined || boards === undefined || pins === undefined) return undefined;
  return { users, boards, pins };
}

async function readChanged<T extends RecordTable>(
  database: Database,
  table: T,
  format: number,
  sequence: number,
): Promise<ChangedRecords<T> | undefined> {
  const chunks = await database.chunks(
    `SELECT ix FROM ${table} WHERE revised > $sequence ORDER BY ix LIMIT ${MOST_CHANGES + 1}`,
    { sequence: BigInt(sequence) },
  );
  const indices = await joinedIntegers(chunks, 0);
  if (indices.length > MOST_CHANGES) return undefined;
  const records = await joinRecords(table, readRecords(database, table, format, sequence));
  return { indices, records };
}
