/**
 * A publication in progress: a private copy of the current version, into which staged records are
 * merged and which is made current in one step. It is not visible before that, and if the process
 * dies, the current version stays.
 */
import { randomBytes } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import { AppError } from '../../../domain/app-error.ts';
import { readPolicy } from '../../../points/policy.ts';
import { zoneData } from '../../../system/zones.ts';
import { type BuildMemory, refuseMemoryShortage } from '../../build-memory.ts';
import { organizationDigest } from '../../organization-digest.ts';
import { describeOverdue, isTooMany } from '../../overdue.ts';
import { expiryOf } from '../../retention.ts';
import type {
  DeletionOf,
  EventColumns,
  NameRecord,
  RecordKind,
  RecordOf,
  StagedProblem,
} from '../../staging.ts';
import {
  type Cause,
  type Changes,
  type CheckingOptions,
  type DeletingOptions,
  isSameOrganization,
  type LeftOut,
  type LocalTimeSpan,
  type Outcome,
  type Overdue,
  type PointsChanges,
  type Preview,
  type Publication,
  type PublicationOptions,
  type Settings,
} from '../../store.ts';
import { text } from '../../stored-values.ts';
import { countRows, Database, prepareThreads, runRows, setMemory } from '../database.ts';
import { readSettings, writeVersion } from '../version-row.ts';
import { checkStaged } from './checks.ts';
import { compact } from './compact.ts';
import {
  type Deleted,
  type DeletingRun,
  deleteRecords,
  leaveOutExpired,
  unmatchedDeletions,
} from './delete-records.ts';
import { deriveTables, emptyDerived } from './derived-tables.ts';
import { countAllAsNew, leaveOutForgotten } from './erase.ts';
import { readZoneData, recordPublication } from './history.ts';
import { restoreOrder } from './layout.ts';
import { type Merged, mergeStaged } from './merge.ts';
import { type MergePosition, nextSequence } from './merge-events.ts';
import type { NextVersion } from './next-version.ts';
import { changesOfPoints } from './points-changes.ts';
import { hasOldWeeks, publishPoints } from './points-tables.ts';
import { CURRENT, changesOfRollback, type RolledBack, rollBack } from './roll-back.ts';
import { bringUpToDate, GENERATION_SCHEMA } from './schema.ts';
import { StagingTables } from './staging-tables.ts';
import { recordChanges } from './version-changes.ts';
import { type ExpectedVersion, verifyVersion } from './version-identity.ts';
import { writeViews } from './views.ts';

/** Called when a publication has taken effect, with the settings that are in force from then on. */
type OnPublished = (outcome: Outcome, settings: Settings) => Promise<void>;

const nameById: NameRecord = (_kind, id) => `${id}`;

export class DuckdbPublication implements Publication {
  readonly #next: NextVersion;
  readonly #database: Database;
  readonly #connection: DuckDBConnection;
  readonly #staging: StagingTables;
  readonly #memory: BuildMemory;
  readonly #cause: Cause | undefined;
  /** Events before it are deleted; absent: none are. */
  #expiryMs: number | undefined;
  readonly #whenOverdue: PublicationOptions['whenOverdue'];
  #overdue: Overdue | undefined;
  readonly #onPublished: OnPublished | undefined;
  #settings: Settings;
  /** Absent while nothing has been deleted. */
  #deleted: Deleted | undefined;
  /** Absent unless an earlier version is restored. */
  #rolledBack: RolledBack | undefined;
  #merged: Merged | undefined;
  #isClosed = false;

  private constructor(
    next: NextVersion,
    building: {
      database: Database;
      connection: DuckDBConnection;
      staging: StagingTables;
      memory: BuildMemory;
      options: BuildingOptions;
      onPublished: OnPublished | undefined;
    },
  ) {
    this.#next = next;
    this.#onPublished = building.onPublished;
    this.#cause = building.options.cause;
    this.#whenOverdue = building.options.whenOverdue;
    this.#expiryMs = expiryOf(next.entry.rules);
    this.#database = building.database;
    this.#connection = building.connection;
    this.#staging = building.staging;
    this.#memory = building.memory;
    this.#settings = next.entry.settings;
  }

  /**
   * Takes ownership of the turn to publish, which ends with the publication. `memory`: for
   * building the version.
   */
  static async begin(
    next: NextVersion,
    memory: BuildMemory,
    options: BuildingOptions = {},
    onPublished?: OnPublished,
  ): Promise<DuckdbPublication> {
    const { file, spillFolder } = next;
    const database = await Database.open(file, {
      readOnly: false,
      memoryBytes: memory.bytesFor(0),
      spillFolder,
      recordsWrites: next.publication !== undefined,
      ...(next.current === undefined ? {} : { attached: { [CURRENT]: next.current.path } }),
    });
    try {
      const connection = await database.connect();
      await prepareTables(connection, next.base);
      const staging = await StagingTables.create(connection);
      return new DuckdbPublication(next, { database, connection, staging, memory, options, onPublished });
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async stage<K extends RecordKind>(kind: K, records: readonly RecordOf[K][]): Promise<void> {
    await this.#staging.append(kind, records);
    this.#refuseMemoryShortage();
  }

  async stageEvents(events: EventColumns): Promise<void> {
    await this.#staging.appendEvents(events);
    this.#refuseMemoryShortage();
  }

  async stageDeletions<K extends RecordKind>(kind: K, deletions: readonly DeletionOf[K][]): Promise<void> {
    await this.#staging.appendDeletions(kind, deletions);
    this.#refuseMemoryShortage();
  }

  /** As soon as it is certain, because reading a hundred million records takes minutes. */
  #refuseMemoryShortage(): void {
    refuseMemoryShortage(this.#staging.count, this.#memory.limitBytes);
  }

  changeSettings(changes: Partial<Settings>): void {
    this.#settings = { ...this.#settings, ...changes };
    readPolicy(this.#settings.policy);
  }

  async check(report: (problem: StagedProblem) => void, options: CheckingOptions = {}): Promise<LeftOut> {
    this.#staging.flush();
    await prepareThreads(this.#connection, this.#staging.count);
    await setMemory(this.#connection, this.#memory.bytesFor(this.#staging.count));
    await this.#keepOverdue();
    const leftOut = {
      forgotten: await leaveOutForgotten(this.#connection),
      expired: await leaveOutExpired(this.#connection, this.#expiryMs),
      unmatched: await unmatchedDeletions(this.#connection, this.#staging.deleting),
    };
    const { nameOf = nameById, ...deleting } = options;
    await this.#delete({ ...deleting, report, nameOf });
    const checked = this.#next.publication === undefined ? [] : this.#next.entry.settings.lmsUserProperties;
    await checkStaged(this.#connection, this.#settings, checked, { report, nameOf });
    return leftOut;
  }

  /**
   * Replaces all content and settings by those of the earlier version from which the next one is
   * built.
   */
  async restore(): Promise<void> {
    const [events] = await countRows(this.#connection, ['events']);
    await prepareThreads(this.#connection, events);
    await setMemory(this.#connection, this.#memory.bytesFor(events));
    await this.#keepOverdue();
    const position = await this.#position();
    const { isAnew, format } = await rollBack(this.#connection, position, this.#next);
    await this.#delete({ report: () => undefined, nameOf: nameById });
    const changes = await changesOfRollback(this.#connection, format, position);
    this.#rolledBack = { changes, isAnew };
    this.#settings = await readSettings(this.#connection);
  }

  async preview(): Promise<Preview> {
    const { changes, erased } = await this.#merge();
    return { changes, erased: erased?.events ?? 0, overdue: this.#overdue };
  }

  async previewPoints(): Promise<PointsChanges | undefined> {
    const { policy } = this.#settings;
    if (policy === (await this.#position()).policy) return undefined;
    return await changesOfPoints(this.#connection, () =>
      publishPoints(this.#connection, policy, true, this.#memory.atOnce),
    );
  }

  async publish(localTimes?: LocalTimeSpan): Promise<Outcome> {
    const outcome = await this.#publish(localTimes);
    await this.#onPublished?.(outcome, this.#settings);
    return outcome;
  }

  async #publish(localTimes: LocalTimeSpan | undefined): Promise<Outcome> {
    const position = await this.#position();
    const { changes: merged, erased } = await this.#merge();
    const changes = this.#rolledBack?.changes ?? merged;
    const counts = await countContent(this.#connection);
    const hasOldWeeks = await this.#hasOldWeeks(position);
    if (!hasOldWeeks && !this.#isWorthAVersion(changes)) {
      this.#close();
      await this.#next.configure(this.#settings);
      const { version } = this.#next.entry;
      return { published: false, version, changes, counts, erased: 0, overdue: this.#overdue };
    }
    const version = `${position.publication}-${randomBytes(12).toString('hex')}`;
    const publishedMs = Date.now();
    const forgets = erased !== undefined;
    const isEmptied = forgets || this.#deleted !== undefined || this.#rolledBack?.isAnew === true;
    const isAnew = isEmptied || this.#exceedsUpdates(merged.events.added);
    if (isAnew && !isEmptied) await emptyDerived(this.#connection);
    await this.#reviseOrganization(position);
    if (isAnew) await countAllAsNew(this.#connection);
    await deriveTables(this.#connection, isAnew || this.#next.publication === undefined);
    const { policy } = this.#settings;
    const computesAll = policy !== position.policy || hasOldWeeks || isAnew;
    await publishPoints(this.#connection, policy, computesAll, this.#memory.atOnce);
    await restoreOrder(this.#connection);
    const lastSequence = await this.#writeVersion({ version, publishedMs }, position);
    await recordChanges(this.#connection, {
      ...{ version, before: position.version, lastSequence },
      hasUsers: changes.users.added + changes.users.changed > 0,
      isOfPairs: !computesAll && this.#rolledBack === undefined,
    });
    const about = {
      ...this.#cause,
      changes,
      counts,
      zoneData: zoneData(),
      ...(localTimes && { localTimes }),
    };
    await recordPublication(
      this.#connection,
      { publication: position.publication, version, publishedMs },
      about,
    );
    await writeViews(this.#connection);
    // Closing the database would also write the remaining data, but would hide a failure such as a
    // full disk.
    await this.#connection.run('CHECKPOINT');
    // Without it, the digests of all chunks are computed.
    const written = forgets ? undefined : await this.#database.written().catch(() => undefined);
    this.#close();
    if (forgets) await compact(this.#next.file);
    const { publication } = position;
    const head = { settings: this.#settings, publication, version, publishedMs, forgets };
    await this.#next.publish({ ...head, written });
    return { published: true, version, changes, counts, erased: erased?.events ?? 0, overdue: this.#overdue };
  }

  /** Whether points are in weeks that the time zone rules in use do not have (decision 107). */
  async #hasOldWeeks(position: FileState): Promise<boolean> {
    const { policy } = this.#settings;
    if (policy !== position.policy) return false;
    const isOfCurrent = this.#rolledBack === undefined;
    if (isOfCurrent && (await readZoneData(this.#connection)) === zoneData()) return false;
    return await hasOldWeeks(this.#connection, policy);
  }

  /** Whether the derived tables are computed again, because many events are new. */
  #exceedsUpdates(events: number): boolean {
    const { atOnce, bytesFor } = this.#memory;
    return events * atOnce.bytesOfUpdate > bytesFor(this.#staging.count);
  }

  async discard(): Promise<void> {
    try {
      this.#close();
    } finally {
      await this.#next.discard();
    }
  }

  /**
   * Keeps all events, however old, if more than a fifth of the current version are too old: then
   * the clock may be wrong. Throws `removal-refused` if that is to be refused.
   */
  async #keepOverdue(): Promise<void> {
    const expiryMs = this.#expiryMs;
    if (expiryMs === undefined || this.#whenOverdue === 'delete') return;
    const table = this.#next.current === undefined ? 'events' : `${CURRENT}.events`;
    const expired = `${table} WHERE timestamp_ms < ${expiryMs}`;
    const [all, events] = await countRows(this.#connection, [table, expired]);
    if (!isTooMany(events, all)) return;
    const overdue = { events, of: all, before: isoOf(expiryMs), now: isoOf(Date.now()) };
    if (this.#whenOverdue === 'refuse')
      throw new AppError('removal-refused', describeOverdue(this.#next.entry.name, overdue));
    this.#overdue = overdue;
    this.#expiryMs = undefined;
  }

  async #delete(deleting: Pick<DeletingRun, 'report' | 'nameOf'> & DeletingOptions): Promise<void> {
    const sequence = nextSequence(await this.#position());
    const run = { ...deleting, sequence, deleting: this.#staging.deleting, expiryMs: this.#expiryMs };
    this.#deleted = await deleteRecords(this.#connection, run);
  }

  async #merge(): Promise<Merged> {
    this.#staging.flush();
    this.#merged ??= await mergeStaged(
      this.#connection,
      await this.#position(),
      this.#deleted,
      this.#memory.atOnce,
    );
    return this.#merged;
  }

  /** `version` and `policy` are those of the file when the publication began. */
  async #position(): Promise<MergePosition & FileState> {
    const [row] = await runRows(this.#connection, 'SELECT last_sequence, policy, version FROM version');
    const [current] =
      this.#next.current === undefined
        ? [row]
        : await runRows(this.#connection, `SELECT last_sequence FROM ${CURRENT}.version`);
    return {
      publication: (this.#next.publication ?? 0) + 1,
      lastSequence: Number(current?.[0] ?? 0),
      policy: row === undefined ? undefined : text(row[1]),
      version: row === undefined ? undefined : text(row[2]),
    };
  }

  /**
   * Settings alone do not make a first version: an organization without data stays unpublished
   * (decision 67).
   */
  #isWorthAVersion(changes: Changes): boolean {
    if (Object.values(changes).some(({ added, changed, deleted }) => added + changed + deleted > 0))
      return true;
    return (
      this.#next.publication !== undefined &&
      comparable(this.#settings) !== comparable(this.#next.entry.settings)
    );
  }

  /**
   * Every event contains the organization and a board. If the organization has changed, all boards
   * count as changed, and so do all events.
   */
  async #reviseOrganization(position: MergePosition): Promise<void> {
    if (isSameOrganization(this.#settings, this.#next.entry.settings)) return;
    await this.#connection.run(`UPDATE boards SET revised = ${nextSequence(position)}`);
  }

  /**
   * Returns the last sequence. It advances even without new events, for records that were changed.
   */
  async #writeVersion(
    made: { readonly version: string; readonly publishedMs: number },
    position: MergePosition,
  ): Promise<number> {
    const next = nextSequence(position);
    const [row] = await runRows(
      this.#connection,
      `SELECT max(sequence) FROM events WHERE sequence >= ${next}`,
    );
    const lastSequence = Math.max(Number(row?.[0] ?? 0), next);
    await writeVersion(this.#connection, this.#settings, {
      ...{ ...made, publication: position.publication, lastSequence },
      organizationDigest: organizationDigest(this.#next.entry.secret),
    });
    return lastSequence;
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#staging.close();
    this.#connection.closeSync();
    this.#database.close();
  }
}

type BuildingOptions = Pick<PublicationOptions, 'cause' | 'whenOverdue'>;

/** Absent before the first publication. */
interface FileState {
  readonly policy: string | undefined;
  readonly version: string | undefined;
}

/**
 * Creates the tables of a new file, or brings those of an earlier format up to date. `base`: what
 * the file must be before; absent: new.
 */
async function prepareTables(connection: DuckDBConnection, base: ExpectedVersion | undefined): Promise<void> {
  if (base === undefined) {
    await connection.run(`BEGIN; ${GENERATION_SCHEMA} COMMIT;`);
    return;
  }
  const { format } = await verifyVersion((sql) => runRows(connection, sql), base);
  for (const step of bringUpToDate(format)) await connection.run(step);
}

function isoOf(instantMs: number): string {
  return new Date(instantMs).toISOString();
}

function comparable(settings: Settings): string {
  return JSON.stringify(settings, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}

/** The number of events, users, boards and pins. */
async function countContent(connection: DuckDBConnection): Promise<Outcome['counts']> {
  const tables = ['events', 'users', 'boards', 'pins'] as const;
  const [events, users, boards, pins] = await countRows(connection, tables);
  return { events, users, boards, pins };
}
