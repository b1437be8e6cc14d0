/**
 * A published version, read straight from the database: the `Dataset` port over SQL. The rows of a version stay what
 * they are whatever is published later, so any connection of the pool answers from it.
 */
import type { Counts, Dataset, Ledger, Lookups, UserPointsKey } from '../dataset.ts';
import { isDerivedName } from '../derived-name.ts';
import {
  type BoardName,
  type EventBatch,
  type EventQuery,
  type EventTally,
  isBounded,
  type LedgerQuery,
  type ListQuery,
  type Revisions,
  type Standings,
  type StandingsQuery,
  type UserName,
} from '../query.ts';
import type { Board, Kind, Organization, Person, Pin } from '../records.ts';
import { NO_REDACTION } from '../redaction.ts';
import type { Scope } from '../scope.ts';
import type { Increment, Tables } from '../tables.ts';
import { clockOf, type Unseen } from '../user-clocks.ts';
import { HEAD_COLUMNS, headOf, type VersionHead } from '../version-head.ts';
import { allOf, inRange, inScope, int8, isListed, withCreation } from './conditions.ts';
import type { Asking, Parameter } from './database.ts';
import { readIncrement } from './increment.ts';
import { readLedger } from './ledger.ts';
import { readForgotten, readRevisions } from './revisions.ts';
import { type At, rowsAt } from './schema.ts';
import { readStandings } from './standings.ts';
import { readTables } from './tables.ts';
import { readTally, streamEvents } from './timeline.ts';
import { wholeColumns } from './whole-columns.ts';

/** Opens a version for reading. Throws when there is no such version. */
export async function openVersion(database: Asking, at: At): Promise<Dataset> {
  return new Version(database, at, await readHead(database, at));
}

class Version implements Dataset {
  readonly version: string;
  readonly organization: Organization;
  readonly lookups: Lookups;
  readonly userPointsKey: UserPointsKey;
  readonly policy: string;
  readonly counts: Counts;
  readonly lastSequence: number;
  readonly kinds: readonly Kind[];
  readonly #database: Asking;
  readonly #at: At;

  constructor(database: Asking, at: At, head: VersionHead) {
    this.#database = database;
    this.#at = at;
    this.version = head.version;
    this.organization = head.organization;
    this.lookups = head.lookups;
    this.userPointsKey = head.userPointsKey;
    this.policy = head.policy;
    this.counts = head.counts;
    this.lastSequence = head.lastSequence;
    this.kinds = head.kinds;
  }

  async *people(): AsyncGenerator<readonly Person[]> {
    const sql = `SELECT id, email, name, first_name, last_name, CAST(${isDerivedName('users')} AS int),
      role, class_role FROM ${rowsAt(this.#at, 'users')} ORDER BY ix`;
    const types = ['int8', 'text', 'text', 'text', 'text', 'int4', 'text', 'text'] as const;
    for await (const { columns } of this.#database.columns(sql, types)) {
      const [ids, email, name, firstName, lastName, nameIsDerived, role, classRole] = columns;
      yield Array.from(ids, (id, row) => ({
        id,
        email: email[row]!,
        name: name[row]!,
        firstName: firstName[row]!,
        lastName: lastName[row]!,
        nameIsDerived: nameIsDerived[row] === 1,
        role: role[row]!,
        classRole: classRole[row]!,
      }));
    }
  }

  async *boards(): AsyncGenerator<readonly Board[]> {
    const sql = `SELECT id, title, category FROM ${rowsAt(this.#at, 'boards')} ORDER BY ix`;
    for await (const { columns } of this.#database.columns(sql, ['int8', 'text', 'text'])) {
      const [ids, title, category] = columns;
      yield Array.from(ids, (id, row) => ({ id, title: title[row]!, category: category[row]! }));
    }
  }

  async *pins(): AsyncGenerator<readonly Pin[]> {
    const sql = `SELECT id, title, body, web_url, image_url, tags FROM ${rowsAt(this.#at, 'pins')} ORDER BY ix`;
    const types = ['int8', 'text', 'text', 'text', 'text', 'text'] as const;
    for await (const { columns } of this.#database.columns(sql, types)) {
      const [ids, title, body, webUrl, imageUrl, tags] = columns;
      yield Array.from(ids, (id, row) => ({
        id,
        title: title[row]!,
        body: body[row]!,
        webUrl: webUrl[row]!,
        imageUrl: imageUrl[row]!,
        tags: JSON.parse(tags[row]!),
      }));
    }
  }

  tables(): Tables {
    return readTables(this.#database, this.#at);
  }

  async revisions(sequence: number, unseen: Unseen = NO_REDACTION): Promise<Revisions> {
    return await readRevisions(this.#database, this.#at, sequence, clockOf(unseen));
  }

  async forgotten(scope: Scope, sequence: number): Promise<readonly bigint[]> {
    return await readForgotten(this.#database, this.#at, scope, sequence);
  }

  async since(before: Dataset): Promise<Increment | undefined> {
    return await readIncrement(this.#database, this.#at, this, before);
  }

  events(query: EventQuery): AsyncIterable<EventBatch> {
    return streamEvents(this.#database, this.#at, query);
  }

  async tally(query: Omit<EventQuery, 'limit'>): Promise<EventTally> {
    return await readTally(this.#database, this.#at, query);
  }

  async listBoards(query: ListQuery): Promise<Int32Array> {
    return await this.#list('board', inScope(this.#at, query.scope, { board: 'ix' }), query);
  }

  async listUsers(query: ListQuery): Promise<Int32Array> {
    return await this.#list('user', inScope(this.#at, query.scope, { people: ['ix'] }), query);
  }

  async findBoard(scope: Scope, name: BoardName): Promise<number | undefined> {
    if (name.value === '') return undefined;
    // Texts are indexed by their digests, because a value can be longer than what an index takes.
    const named = {
      id: 'id = $1',
      lti: 'md5(lti_id) = md5($1) AND lti_id = $1',
      course: 'md5(course_id) = md5($1) AND course_id = $1',
    }[name.by];
    // Asked of the row itself, so that a hidden one takes no longer than one that is not there.
    const where = `${named} AND ${isListed(scope.boards)}`;
    return await this.#findOne(`SELECT ix FROM ${rowsAt(this.#at, 'boards')} WHERE ${where}`, [name.value]);
  }

  async findUser(scope: Scope, name: UserName): Promise<number | undefined> {
    if (name.by === 'id') {
      const visible =
        scope.users === 'of-boards' ? inScope(this.#at, scope, { people: ['ix'] }) : isListed(scope.users);
      return await this.#findOne(`SELECT ix FROM ${rowsAt(this.#at, 'users')} WHERE id = $1 AND ${visible}`, [
        name.value,
      ]);
    }
    const visible = inScope(this.#at, scope, { people: ['person'] });
    return await this.#findOne(
      `SELECT person FROM ${rowsAt(this.#at, 'user_properties')}
       WHERE property = $1 AND md5(value) = md5($2) AND value = $2 AND ${visible}`,
      [name.property, name.value],
    );
  }

  async standings(query: StandingsQuery): Promise<Standings> {
    return await readStandings(this.#database, this.#at, query);
  }

  async ledger(query: LedgerQuery): Promise<Ledger> {
    return await readLedger(this.#database, this.#at, query);
  }

  /** Nothing to free: the connections belong to the store. */
  async close(): Promise<void> {}

  async #list(
    thing: 'user' | 'board',
    visible: string,
    { scope, range, afterId, limit }: ListQuery,
  ): Promise<Int32Array> {
    const after = afterId === undefined ? 'true' : `id > ${int8(afterId)}`;
    const from = isBounded(range)
      ? await withCreation(this.#database, this.#at, thing, scope)
      : rowsAt(this.#at, `${thing}s`);
    const { columns } = await wholeColumns(
      this.#database,
      `SELECT ix FROM ${from} WHERE ${allOf(visible, after, inRange(range, 'created_ms'))}
       ORDER BY id ${limit === undefined ? '' : `LIMIT ${Math.trunc(limit)}`}`,
      ['int4'],
    );
    return columns[0];
  }

  async #findOne(sql: string, parameters: readonly Parameter[]): Promise<number | undefined> {
    // No text in the database has a NUL, and asking for one is an error there.
    if (parameters.some((value) => typeof value === 'string' && value.includes('\0'))) return undefined;
    const [row] = await this.#database.rows(sql, parameters);
    return row === undefined ? undefined : Number(row[0]);
  }
}

async function readHead(database: Asking, at: At): Promise<VersionHead> {
  const [row] = await database.rows(
    `SELECT events, users, boards, pins, ${HEAD_COLUMNS} FROM versions WHERE organization = $1 AND publication = $2`,
    [at.organization, at.publication],
  );
  if (row === undefined) throw new Error(`there is no publication ${at.publication}`);
  const kinds = await database.rows(`SELECT type, action FROM ${rowsAt(at, 'kinds')} ORDER BY ix`);
  return headOf(row.slice(4), row.slice(0, 4), kinds);
}
