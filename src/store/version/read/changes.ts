/** Reads what a version has that an earlier one had not (decision 47). */
import type { ChangedRecords, DatasetChanges } from '../../../dataset/changes.ts';
import type { Dataset } from '../../../dataset/dataset.ts';
import { joinRecords, type RecordTable } from '../../../dataset/records.ts';
import { type Database, joinedIntegers } from '../database.ts';
import { hasChangedBoards } from '../publish/schema.ts';
import { readRecords } from './records.ts';
import { readTables } from './tables.ts';
import { readEventsSince } from './timeline.ts';

/** With more changes, reading the whole version takes hardly longer. */
const MOST_CHANGES = 65_536;

/**
 * Undefined if anything was deleted, if more has changed than is worth it, or if the file does not
 * tell. `after` is the later version.
 */
export async function readChanges(
  database: Database,
  format: number,
  before: Dataset,
  after: Pick<Dataset, 'counts'>,
): Promise<DatasetChanges | undefined> {
  if (after.counts.events - before.counts.events > MOST_CHANGES) return undefined;
  const boards = hasChangedBoards(format) ? await readChangedBoards(database, before.version) : undefined;
  if (boards === undefined || boards.length > MOST_CHANGES) return undefined;
  const events = await readEventsSince(database, before.lastSequence);
  const [users, changedBoards, pins] = [
    await readChanged(database, 'users', format, before.lastSequence),
    await readChanged(database, 'boards', format, before.lastSequence),
    await readChanged(database, 'pins', format, before.lastSequence),
  ];
  if (users === undefined || changedBoards === undefined || pins === undefined) return undefined;
  const records = { users, boards: changedBoards, pins };
  return { events, records, boards, ofBoards: readTables(database, boards) };
}

/**
 * The boards that all publications after a version have changed, ascending. Undefined if the
 * version is not among the earlier ones of this file, or if one of them may have changed all.
 */
async function readChangedBoards(database: Database, version: string): Promise<Int32Array | undefined> {
  const [row] = await database.rows(
    `SELECT count(*) = max(p.last) - min(p.before) AND count(*) = count(c.boards)
     FROM (SELECT max(publication) AS last, max(publication) FILTER (version = $version) AS before FROM publications) p
     JOIN changed_boards c ON c.publication > p.before`,
    { version },
  );
  if (row?.[0] !== true) return undefined;
  const chunks = await database.chunks(
    `SELECT DISTINCT unnest(boards) AS board FROM changed_boards
     WHERE publication > (SELECT publication FROM publications WHERE version = $version) ORDER BY board`,
    { version },
  );
  return await joinedIntegers(chunks, 0);
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
