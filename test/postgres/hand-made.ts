/**
 * Publications of rows made by hand, past the import: they leave for the derived tables what the merge leaves.
 * Users, boards and pins have their index for an id.
 */
import { Database } from '../../src/dataset/postgres/database.ts';
import { deriveTables } from '../../src/dataset/postgres/derived.ts';
import { Draft } from '../../src/dataset/postgres/draft.ts';
import { migrate } from '../../src/dataset/postgres/migrate.ts';
import { publishPoints } from '../../src/dataset/postgres/points.ts';
import { ALIVE, type At, MORTAL } from '../../src/dataset/postgres/schema.ts';
import { LATER_USER_CLOCKS } from '../../src/dataset/user-clocks.ts';
import { sharedPostgres } from './throwaway.ts';

const KINDS = ['pin.created', 'pin.commented', 'pin.visited', 'board.followed', 'board.unfollowed'] as const;
type KindName = (typeof KINDS)[number];

export interface HandMade {
  readonly users?: readonly { readonly id: number; readonly created_ms?: number }[];
  readonly boards?: readonly { readonly id: number; readonly created_ms?: number }[];
  readonly pins?: readonly { readonly id: number; readonly body: string }[];
  readonly events?: readonly HandMadeEvent[];
  readonly memberships?: readonly Pair[];
  readonly points?: readonly (Pair & {
    readonly total_points: number;
    readonly participation_score: number;
  })[];
  readonly adjustments?: readonly (Pair & {
    readonly points: number;
    readonly timestamp_ms: number;
    readonly reason: string;
  })[];
}

interface Pair {
  readonly board: number;
  readonly person: number;
}

export interface HandMadeEvent {
  readonly kind: KindName;
  readonly actor: number;
  readonly owner: number;
  readonly board: number;
  readonly pin?: number;
  readonly timestamp_ms: number;
}

const STAGED = {
  users: ['staged_users', 'id BIGINT, created_ms BIGINT'],
  boards: ['staged_boards', 'id BIGINT, created_ms BIGINT'],
  pins: ['staged_pins', 'id BIGINT, body TEXT'],
  events: [
    'staged_events',
    'place BIGINT, kind INTEGER, actor INTEGER, "owner" INTEGER, board INTEGER, pin INTEGER, timestamp_ms BIGINT',
  ],
  memberships: ['fresh_memberships', 'board INTEGER, person INTEGER'],
  points: ['fresh_points', 'board INTEGER, person INTEGER, total_points BIGINT, participation_score BIGINT'],
  adjustments: [
    'fresh_adjustments',
    'board INTEGER, person INTEGER, points BIGINT, timestamp_ms BIGINT, reason TEXT',
  ],
} as const;

export const DAY_MS = 86_400_000;
/** A Monday. */
export const MONDAY = 4 * DAY_MS;
/** A rule. */
export const CREATED = { on: 'pin.created', to: 'actor', points: 10 };

/** Days count from `MONDAY`. */
export function event(
  kind: KindName,
  actor: number,
  day: number,
  more: Partial<HandMadeEvent> = {},
): HandMadeEvent {
  return { kind, actor, owner: actor, board: 0, timestamp_ms: MONDAY + day * DAY_MS, ...more };
}

/** Users or boards, numbered from 0. */
export function things(count: number): { id: number }[] {
  return Array.from({ length: count }, (_, id) => ({ id }));
}

const opened: Database[] = [];

/** To be called after all tests: connections that rest keep the process for a while. */
export async function closeOrganizations(): Promise<void> {
  for (const database of opened.splice(0)) await database.close();
}

/** An organization with a first publication: five users and two boards, unless others are given. */
export async function published(made: HandMade, policy: object = {}): Promise<HandMadeOrganization> {
  const organization = await HandMadeOrganization.create();
  await organization.publish({ users: things(5), boards: things(2), ...made }, JSON.stringify(policy));
  return organization;
}

/** An organization in a database of its own; the first publication is number 1. */
export class HandMadeOrganization {
  readonly database: Database;
  #publication = 0;
  #sequence = 0;
  #policy: string | undefined;

  private constructor(database: Database) {
    this.database = database;
  }

  static async create(): Promise<HandMadeOrganization> {
    const database = new Database(await (await sharedPostgres()).newDatabase());
    opened.push(database);
    await migrate(database);
    // What is made by hand says nothing of revisions.
    for (const table of ['users', 'boards', 'pins'])
      await database.rows(`ALTER TABLE corkboard.${table} ALTER revised SET DEFAULT 0`);
    for (const clock of LATER_USER_CLOCKS)
      await database.rows(`ALTER TABLE corkboard.users ALTER ${clock} SET DEFAULT 0`);
    const [from, to] = [Date.UTC(2000, 0), Date.UTC(2101, 0)];
    await database.rows(`CREATE TABLE corkboard.events_2000 PARTITION OF corkboard.events
      FOR VALUES FROM (${from}) TO (${to})`);
    return new HandMadeOrganization(database);
  }

  /** The version published last. */
  get at(): At {
    return { organization: 3, publication: this.#publication };
  }

  async publish(made: HandMade, policy = this.#policy ?? ''): Promise<void> {
    const session = await this.database.open();
    try {
      await session.run('BEGIN');
      const draft = await Draft.begin(session, this.at.organization, this.#publication + 1);
      await this.#merge(draft, made);
      await deriveTables(draft, false);
      await publishPoints(draft, policy, policy !== this.#policy);
      await session.run('COMMIT');
    } finally {
      session.close();
    }
    this.#publication += 1;
    this.#sequence += made.events?.length ?? 0;
    this.#policy = policy;
  }

  /** Rows, each as one text; ` ALIVE` stands for the rows of the version in force. */
  async rows(sql: string): Promise<string[]> {
    const found = await this.database.rows(sql.replaceAll(' ALIVE', ` organization = 3 AND died = ${ALIVE}`));
    return found.map((row) => row.map((value) => (value === null ? '-' : String(value))).join(' '));
  }

  awards(): Promise<string[]> {
    return this.rows(
      'SELECT sequence, rule, person, points, outcome, week_ms FROM awards WHERE ALIVE ORDER BY sequence, rule',
    );
  }

  standings(): Promise<string[]> {
    return this.rows(
      `SELECT board, person, total_points, participation_score FROM standings WHERE ALIVE ORDER BY board, person`,
    );
  }

  people(): Promise<string[]> {
    return this.rows('SELECT person, present FROM board_people WHERE ALIVE ORDER BY board, person');
  }

  /** Numbers of rows that the last publication added and ended, of the tables where it did. */
  async written(): Promise<Record<string, string>> {
    const written: Record<string, string> = {};
    for (const table of MORTAL) {
      const [row] = await this.database.rows(
        `SELECT count(*) FILTER (WHERE born = $1), count(*) FILTER (WHERE died = $1) FROM ${table}`,
        [this.#publication],
      );
      const [added, ended] = (row ?? []).map(Number);
      if (added !== 0 || ended !== 0) written[table] = `+${added} -${ended}`;
    }
    return written;
  }

  async #merge(draft: Draft, made: HandMade): Promise<void> {
    const events = (made.events ?? []).map((event, place) => ({
      ...event,
      place: this.#sequence + 1 + place,
      kind: KINDS.indexOf(event.kind),
    }));
    for (const [name, [table, types]] of Object.entries(STAGED)) {
      const rows = name === 'events' ? events : (made[name as keyof HandMade] ?? []);
      await draft.run(`CREATE TEMP TABLE ${table} (${types}) ON COMMIT DROP`);
      await draft.rows(`INSERT INTO ${table} SELECT * FROM json_to_recordset($1::json) AS given (${types})`, [
        JSON.stringify(rows),
      ]);
    }
    if (draft.publication === 1) {
      const kinds = KINDS.map((kind, ix) => `(${ix}, '${kind.replace('.', "', '")}')`);
      await draft.add('kinds', 'ix, type, action', `VALUES ${kinds.join(', ')}`);
    }
    await draft.keep(
      'altered_pins',
      'SELECT p.ix FROM pins p JOIN staged_pins s ON s.id = p.id WHERE s.body <> p.body',
    );
    for (const [table, columns, rows] of THINGS) {
      await draft.end(table, `t.id IN (SELECT id FROM staged_${table})`);
      await draft.add(table, columns, `${rows} FROM staged_${table}`);
    }
    await draft.run(`INSERT INTO corkboard.events
        (organization, publication, sequence, kind, actor, "owner", board, pin, timestamp_ms)
      SELECT ${draft.organization}, ${draft.publication}, place, kind, actor, "owner", board, pin, timestamp_ms
      FROM staged_events;
      CREATE TEMP VIEW new_events AS SELECT * FROM events WHERE publication = ${draft.publication}`);
    await draft.add('memberships', 'board, person', 'SELECT * FROM fresh_memberships');
    await draft.end('imported_points', '(t.board, t.person) IN (SELECT board, person FROM fresh_points)');
    await draft.add(
      'imported_points',
      'board, person, total_points, participation_score',
      'SELECT * FROM fresh_points',
    );
    await draft.add(
      'adjustments',
      'board, person, points, timestamp_ms, reason, place',
      'SELECT *, row_number() OVER () FROM fresh_adjustments',
    );
  }
}

const THINGS = [
  [
    'users',
    'ix, id, email, name, first_name, last_name, role, class_role, created_ms',
    `SELECT id::INTEGER, id, '', '', '', '', '', '', created_ms`,
  ],
  [
    'boards',
    'ix, id, title, category, lti_id, course_id, created_ms',
    `SELECT id::INTEGER, id, '', '', '', '', created_ms`,
  ],
  ['pins', 'ix, id, title, body, web_url, image_url, tags', `SELECT id::INTEGER, id, '', body, '', '', '[]'`],
] as const;
