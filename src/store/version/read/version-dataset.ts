/** A published version, read directly from its DuckDB file: implements the `Dataset` port. */
import type { DatasetChanges } from '../../../dataset/changes.ts';
import type { CommonValues } from '../../../dataset/common-values.ts';
import type { Counts, Dataset, Ledger, Lookups, UserPointsKey } from '../../../dataset/dataset.ts';
import {
  type BoardName,
  type EventBatch,
  type EventQuery,
  type EventTally,
  isBounded,
  type LedgerQuery,
  type ListKind,
  type ListQuery,
  type PointsQuery,
  type Revisions,
  type Standings,
  type StandingsQuery,
  type UserName,
} from '../../../dataset/query.ts';
import type { EventKind, Organization, RecordColumns, RecordTable } from '../../../dataset/records.ts';
import type { Tables } from '../../../dataset/tables.ts';
import type { PermittedProperty } from '../../../domain/lms-split.ts';
import { NO_REDACTION } from '../../../domain/redaction.ts';
import type { Scope } from '../../../domain/scope.ts';
import { clockOf, type Unseen } from '../../../domain/user-clocks.ts';
import { AsyncMemo } from '../../../system/async-memo.ts';
import { readProductVersion } from '../../../system/product-version.ts';
import { type Database, joinedIntegers, type StatementParameters } from '../database.ts';
import { hasClocks, hasHistory } from '../publish/schema.ts';
import { readDeletedEvents, readForgotten, readRevisions } from './change-set.ts';
import { readChanges } from './changes.ts';
import { readCommonValues } from './common-values.ts';
import { allOf, type Condition, inRange, inScope, visibleOf, withCreation } from './conditions.ts';
import { fragmentsPath, hasSmallImage, ImageFile, readImageHead } from './image-file.ts';
import { readLedger } from './ledger.ts';
import { type OpenedVersion, openVersion, openVersionLater, type VersionFile } from './opened-version.ts';
import { readPointsSlices, readStandings, streamPoints } from './points-totals.ts';
import { readRecords, readTextBytes } from './records.ts';
import { readTables } from './tables.ts';
import { readSlices, readTally, streamEvents } from './timeline.ts';
import { decodeHead, encodeHead, headOf, type VersionHead } from './version-head.ts';

/** Memory that DuckDB may use for queries of one version before it spills to disk. */
const MEMORY_BYTES = 1024e6;

/** LMS properties whose values stay in memory; each takes four bytes per user. */
const KEPT_PROPERTIES = 8;

/**
 * Opens a version for reading. The dataset releases the file. Throws `data-unreadable` when the
 * file is damaged, or a different version. A small version with an image is opened only when
 * something is read that is not in the image.
 */
export async function openVersionDataset(file: VersionFile): Promise<Dataset> {
  let database: Database | undefined;
  try {
    const later = await openLater(file);
    if (later !== undefined) return later;
    const opened = await openVersion(file, MEMORY_BYTES);
    database = opened.database;
    return new VersionDataset(database, await readHead(opened), opened.format, file);
  } catch (error) {
    database?.close();
    file.release();
    throw error;
  }
}

async function openLater(file: VersionFile): Promise<Dataset | undefined> {
  const { imagePath, expected } = file;
  const { version } = expected;
  if (version === undefined || imagePath === undefined || !(await hasSmallImage(imagePath))) return undefined;
  // Before its image is read: a different version with the same path would have no image yet.
  const database = openVersionLater(file, MEMORY_BYTES);
  const encoded = database && (await readImageHead(imagePath, version));
  if (database === undefined || encoded === undefined) {
    database?.close();
    return undefined;
  }
  const { head, format } = decodeHead(encoded);
  return new VersionDataset(database, head, format, file);
}

class VersionDataset implements Dataset {
  readonly version: string;
  readonly organization: Organization;
  readonly lookups: Lookups;
  readonly userPointsKey: UserPointsKey;
  readonly policy: string;
  readonly counts: Counts;
  readonly lastSequence: number;
  readonly kinds: readonly EventKind[];
  readonly image: ImageFile | undefined;
  readonly fragmentImage: ImageFile | undefined;
  /** Read for the first export that streams from the file. */
  readonly #slices = new AsyncMemo<Float64Array>();
  /** Read for the first table of points. */
  readonly #pointsSlices = new AsyncMemo<BigInt64Array>();
  readonly #commonValues = new AsyncMemo<CommonValues>(KEPT_PROPERTIES);
  readonly #database: Database;
  readonly #format: number;
  readonly #release: () => void;

  constructor(
    database: Database,
    head: VersionHead,
    format: number,
    { path, imagePath, release }: VersionFile,
  ) {
    this.#database = database;
    this.#format = format;
    this.#release = release;
    this.version = head.version;
    if (imagePath !== undefined) {
      this.image = new ImageFile(imagePath, head.version, path, encodeHead(head, format));
      // A different release can render differently.
      const rendered = `${head.version} by ${readProductVersion()}`;
      this.fragmentImage = new ImageFile(fragmentsPath(imagePath), rendered, path);
    }
    this.organization = head.organization;
    this.lookups = head.lookups;
    this.userPointsKey = head.userPointsKey;
    this.policy = head.policy;
    this.counts = head.counts;
    this.lastSequence = head.lastSequence;
    this.kinds = head.kinds;
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
  }

  records<T extends RecordTable>(of: T): AsyncIterable<RecordColumns<T>> {
    return readRecords(this.#database, of, this.#format);
  }

  textBytes(): Promise<number> {
    return readTextBytes(this.#database, this.#format);
  }

  tables(): Tables {
    return readTables(this.#database);
  }

  async commonValues(property: PermittedProperty): Promise<CommonValues> {
    const read = () => readCommonValues(this.#database, this.counts.users, property);
    return await this.#commonValues.take(property, read);
  }

  async changesSince(before: Dataset): Promise<DatasetChanges | undefined> {
    return await readChanges(this.#database, this.#format, before, this);
  }

  /** In files of earlier formats without all clocks, every change of a user counts. */
  async revisions(sequence: number, unseen: Unseen = NO_REDACTION): Promise<Revisions> {
    return await readRevisions(
      this.#database,
      sequence,
      hasClocks(this.#format) ? clockOf(unseen) : 'revised',
    );
  }

  async forgotten(scope: Scope, sequence: number): Promise<readonly bigint[]> {
    return await readForgotten(this.#database, scope, sequence);
  }

  async deletedEvents(
    query: Omit<EventQuery, 'limit'>,
    sequence: number,
    most: number,
  ): Promise<Float64Array> {
    if (!hasHistory(this.#format)) return new Float64Array();
    return await readDeletedEvents(this.#database, query, sequence, most);
  }

  events(query: EventQuery): AsyncIterable<EventBatch> {
    return streamEvents(this.#database, query, () =>
      this.#slices.take('slices', () => readSlices(this.#database)),
    );
  }

  async tally(query: Omit<EventQuery, 'limit'>): Promise<EventTally> {
    return await readTally(this.#database, query);
  }

  async list(of: ListKind, query: ListQuery): Promise<Int32Array> {
    const visible = inScope(query.scope, of === 'boards' ? { board: 'ix' } : { people: ['ix'] });
    const after = query.afterId === undefined ? 'true' : 'id > $afterId';
    const created = isBounded(query.range) ? withCreation(of, query.scope) : undefined;
    const where = allOf(visible, inRange(query.range, 'created_ms'), {
      sql: after,
      parameters: query.afterId === undefined ? {} : { afterId: query.afterId },
    });
    const limit = query.limit === undefined ? '' : `LIMIT ${Math.trunc(query.limit)}`;
    const chunks = await this.#database.chunks(
      `SELECT ix FROM ${created?.sql ?? of} WHERE ${where.sql} ORDER BY id ${limit}`,
      { ...where.parameters, ...created?.parameters },
    );
    return await joinedIntegers(chunks, 0);
  }

  async findBoard(scope: Scope, name: BoardName): Promise<number | undefined> {
    const column = { id: 'id', lti: 'lti_id', course: 'course_id' }[name.by];
    if (name.value === '') return undefined;
    return await this.#findOne(
      `SELECT ix FROM boards WHERE ${column} = $value`,
      { value: name.value },
      visibleOf('boards', scope),
    );
  }

  async findUser(scope: Scope, name: UserName): Promise<number | undefined> {
    const visible = visibleOf('people', scope);
    if (name.by === 'id') {
      return await this.#findOne('SELECT ix FROM users WHERE id = $value', { value: name.value }, visible);
    }
    return await this.#findOne(
      'SELECT person AS ix FROM user_properties WHERE property = $property AND value = $value',
      { property: name.property, value: name.value },
      visible,
    );
  }

  async standings(query: StandingsQuery): Promise<Standings> {
    return await readStandings(this.#database, query);
  }

  points(query: PointsQuery): AsyncIterable<Standings> {
    return streamPoints(this.#database, query, () =>
      this.#pointsSlices.take('slices', () => readPointsSlices(this.#database)),
    );
  }

  async ledger(query: LedgerQuery): Promise<Ledger> {
    return await readLedger(this.#database, query);
  }

  async close(): Promise<void> {
    try {
      this.#database.close();
    } finally {
      this.#release();
    }
  }

  /**
   * Scans all visible rows whether or not something was found: a name outside the scope must not
   * take longer than one that does not exist (decision 12).
   */
  async #findOne(sql: string, parameters: StatementParameters, visible: Condition | undefined) {
    const found = `(SELECT max(ix) AS ix FROM (${sql})) found`;
    const [row] = await this.#database.rows(
      visible === undefined
        ? `SELECT ix, true FROM ${found}`
        : `SELECT max(found.ix), bool_or(visible.ix = found.ix) FROM ${visible.sql} visible(ix), ${found}`,
      { ...parameters, ...visible?.parameters },
    );
    const [index, isVisible] = row ?? [];
    return isVisible === true && index !== null ? Number(index) : undefined;
  }
}

async function readHead({ database, head }: OpenedVersion): Promise<VersionHead> {
  const [counts = []] = await database.rows(
    `SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM users), (SELECT count(*) FROM boards),
       (SELECT count(*) FROM pins)`,
  );
  const kinds = await database.rows('SELECT type, action FROM kinds ORDER BY ix');
  return headOf(head, counts, kinds);
}
