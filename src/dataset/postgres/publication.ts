/**
 * The next version on its way: staged records beside what is published, merged into it and put in force in one
 * transaction. Until then nothing of it can be seen, and a process or a connection that dies leaves nothing of it.
 */
import { randomBytes } from 'node:crypto';
import { readPolicy } from '../../points/policy.ts';
import type { Counts } from '../dataset.ts';
import type { EventColumns, Problem, RecordKind, RecordOf } from '../staging.ts';
import {
  type Changes,
  isSameOrganization,
  type Outcome,
  type Publication,
  type PublicationOptions,
  type Settings,
} from '../store.ts';
import { type Basis, nextSequence } from './basis.ts';
import { Catalog, type CatalogEntry } from './catalog.ts';
import { checkStaged } from './checks.ts';
import type { Database, Session } from './database.ts';
import { deriveTables } from './derived.ts';
import { Draft } from './draft.ts';
import { countAllAsNew, type Erased, eraseEarlierTraces, leaveOutForgotten } from './erase.ts';
import { type Merged, mergeStaged } from './merge.ts';
import { insertEvents } from './merge-events.ts';
import { publishPoints } from './points.ts';
import { prune } from './prune.ts';
import { acquirePublicationLock } from './publication-lock.ts';
import { LASTING, MORTAL } from './schema.ts';
import { Staging } from './staging.ts';

/** Memory of the server for a publication; what does not fit is spilled to disk. */
const SESSION = `
  SET work_mem = '128MB';
  SET temp_buffers = '64MB';
  SET maintenance_work_mem = '256MB';
  -- Temporary tables are looked at once or twice: rough figures of them do, and take a tenth of the time.
  SET default_statistics_target = 10;`;

/** After so many records the planner must not wait for the autovacuum to learn of them. */
const MANY_RECORDS = 10_000;

/** What is in force; of an organization without a version, nothing. */
interface Present extends Basis {
  readonly policy: string | undefined;
}

export class PostgresPublication implements Publication {
  readonly #session: Session & { close(): void };
  readonly #entry: CatalogEntry;
  readonly #present: Present;
  readonly #staging: Staging;
  #settings: Settings;
  #draft: Draft | undefined;
  #merged: Merged | undefined;
  #ended = false;

  private constructor(
    session: Session & { close(): void },
    entry: CatalogEntry,
    present: Present,
    staging: Staging,
  ) {
    this.#session = session;
    this.#entry = entry;
    this.#present = present;
    this.#staging = staging;
    this.#settings = entry.settings;
  }

  /** Throws `organization-unknown` and `organization-busy`. */
  static async begin(
    database: Database,
    name: string,
    options: PublicationOptions,
  ): Promise<PostgresPublication> {
    const { organization } = await new Catalog(database).entry(name);
    const session = await database.open();
    try {
      await session.withoutTimeout();
      await acquirePublicationLock(session, organization, options);
      await session.run(SESSION);
      // Read again: what is in force may have changed while waiting.
      const entry = await new Catalog(session).entry(name);
      const present = await readPresent(session, entry);
      const staging = await Staging.create(session);
      return new PostgresPublication(session, entry, present, staging);
    } catch (error) {
      session.close();
      throw error;
    }
  }

  async stage<K extends RecordKind>(kind: K, records: readonly RecordOf[K][]): Promise<void> {
    await this.#staging.append(kind, records);
  }

  async stageEvents(events: EventColumns): Promise<void> {
    await this.#staging.appendEvents(events);
  }

  changeSettings(changes: Partial<Settings>): void {
    this.#settings = { ...this.#settings, ...changes };
    readPolicy(this.#settings.policy);
  }

  async check(report: (problem: Problem) => void): Promise<number> {
    const draft = await this.#begin();
    const leftOut = await leaveOutForgotten(draft, this.#staging);
    const checked = this.#entry.version === undefined ? [] : this.#entry.settings.lmsUserProperties;
    await checkStaged(draft, this.#staging, this.#settings, checked, report);
    return leftOut;
  }

  async preview(): Promise<Pick<Outcome, 'changes' | 'erased'>> {
    const { changes, erased } = await this.#merge(await this.#begin());
    return { changes, erased: erased?.events ?? 0 };
  }

  async publish(): Promise<Outcome> {
    const draft = await this.#begin();
    const { changes, coming, erased } = await this.#merge(draft);
    const counts = countsAfter(this.#present.counts, changes, erased);
    if (!this.#isWorthAVersion(changes)) {
      await this.#session.run('ROLLBACK');
      await new Catalog(this.#session).configure(this.#entry.organization, this.#settings);
      await this.discard();
      return { published: false, version: this.#entry.version, changes, counts, erased: 0 };
    }
    await insertEvents(draft);
    await this.#reviseOrganization(draft);
    if (erased !== undefined) await countAllAsNew(draft);
    await deriveTables(draft, erased !== undefined);
    const { policy } = this.#settings;
    await publishPoints(draft, policy, policy !== this.#present.policy || erased !== undefined);
    if (erased !== undefined) await eraseEarlierTraces(draft);
    const nowMs = Date.now();
    await prune(draft, nowMs);
    const version = `${draft.publication}-${randomBytes(12).toString('hex')}`;
    await this.#writeVersion(draft, version, nowMs, counts);
    await coming?.attach();
    await this.#analyze(changes, erased);
    await this.#session.run('COMMIT');
    await this.discard();
    return { published: true, version, changes, counts, erased: erased?.events ?? 0 };
  }

  async discard(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#staging.rest();
    // Closing would do the same a moment later, when the next publication may have asked for the lock already.
    await this.#session.run('ROLLBACK; SELECT pg_advisory_unlock_all();').catch(() => undefined);
    this.#session.close();
  }

  /** Begins the transaction, unless it has begun. Before that, while records are read, there is none. */
  async #begin(): Promise<Draft> {
    await this.#staging.flush();
    if (this.#draft === undefined) {
      // Who has waited for a lock must see what the other one did meanwhile, whatever the default is here.
      await this.#session.run('BEGIN ISOLATION LEVEL READ COMMITTED');
      const publication = (this.#entry.publication ?? 0) + 1;
      this.#draft = await Draft.begin(this.#session, this.#entry.organization, publication);
    }
    return this.#draft;
  }

  async #merge(draft: Draft): Promise<Merged> {
    this.#merged ??= await mergeStaged(draft, this.#staging, this.#present);
    return this.#merged;
  }

  /** Tells the planner of what was added before anybody asks for it. What was a little more than before can wait. */
  async #analyze({ events }: Changes, erased: Erased | undefined): Promise<void> {
    // What the planner knows has samples of addresses and names in it.
    if (this.#staging.total < MANY_RECORDS && erased === undefined) return;
    const grown = events.added * 10 >= this.#present.counts.events;
    const tables = grown ? [...TABLES, 'events'] : TABLES;
    const analyze = tables.map((table) => `ANALYZE (SKIP_LOCKED) corkboard.${table};`);
    await this.#session.run(`SET LOCAL default_statistics_target = 30; ${analyze.join(' ')}`);
  }

  /** Settings alone make no first version: an organization without data stays unpublished (decision 13). */
  #isWorthAVersion(changes: Changes): boolean {
    if (Object.values(changes).some(({ added, changed }) => added + changed > 0)) return true;
    return (
      this.#entry.version !== undefined && comparable(this.#settings) !== comparable(this.#entry.settings)
    );
  }

  /** The organization stands in every event, as the boards do: when it is another, all of them are. */
  async #reviseOrganization(draft: Draft): Promise<void> {
    if (isSameOrganization(this.#settings, this.#entry.settings)) return;
    const kept = 'ix, id, title, category, lti_id, course_id, created_ms';
    await draft.keep('same_boards', `SELECT ${kept} FROM boards`);
    await draft.end('boards', 'true');
    const revised = `${nextSequence(this.#present)}::bigint`;
    await draft.add('boards', `${kept}, revised`, `SELECT ${kept}, ${revised} FROM same_boards ORDER BY ix`);
  }

  /** The clock goes on even when no event has come, for what was altered. */
  async #writeVersion(draft: Draft, version: string, publishedMs: number, counts: Counts): Promise<void> {
    const { organization, publication } = draft;
    const added = await draft.newEvents();
    const lastSequence = Math.max(added.lastSequence, nextSequence(this.#present));
    const facts = { version, publication, publishedMs, lastSequence, counts };
    await new Catalog(draft.session).publish(organization, this.#settings, facts);
  }
}

const TABLES = [...MORTAL, ...LASTING];

async function readPresent(session: Session, { organization, publication }: CatalogEntry): Promise<Present> {
  if (publication === undefined) {
    return { counts: { events: 0, users: 0, boards: 0, pins: 0 }, lastSequence: 0, policy: undefined };
  }
  const [row] = await session.rows(
    `SELECT events, users, boards, pins, last_sequence, policy FROM versions
     WHERE organization = $1 AND publication = $2`,
    [organization, publication],
  );
  if (row === undefined) throw new Error('the publication in force has no row of its own');
  const [events, users, boards, pins, lastSequence] = row.map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ];
  return { counts: { events, users, boards, pins }, lastSequence, policy: String(row[5]) };
}

function countsAfter(
  before: Counts,
  { events, users, boards, pins }: Changes,
  erased: Erased | undefined,
): Counts {
  return {
    events: before.events + events.added - (erased?.events ?? 0),
    users: before.users + users.added,
    boards: before.boards + boards.added,
    pins: before.pins + pins.added,
  };
}

function comparable(settings: Settings): string {
  return JSON.stringify(settings, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}
