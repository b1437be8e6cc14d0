/**
 * The content of a version as the records of a bundle (decision 28). Importing them reproduces the
 * same responses. Derived values are not included.
 */

import { formatInstant } from '../domain/instant.ts';
import type { RecordKind } from '../store/staging.ts';
import type { VersionRows } from '../store/version-rows.ts';
import { type CopiedRows, type CopiedTable, columnsOf, saidColumns } from '../store/version-tables.ts';

/** The fields of a record. Absent values are undefined. */
export type BundleRecord = Readonly<Record<string, RecordValue>>;
export type RecordValue = string | bigint | number | readonly string[] | undefined;

/** The type of a field in files; `texts` is a list of texts. */
export type FieldType = 'integer' | 'text' | 'instant' | 'texts';

const TEXT = 'text';

/** Fields whose name or type differs from their column. */
const FIELD_OF: Readonly<Record<string, readonly [name: string, type: FieldType]>> = {
  board: ['board_id', 'integer'],
  owner: ['owner_id', 'integer'],
  created_ms: ['created_at', 'instant'],
};

/**
 * The fields of each kind of record, in order, without LMS properties. Files in which no event has
 * a body leave out the column.
 */
export const FIELDS: Readonly<Record<RecordKind, Fields>> = {
  users: fieldsOf('users'),
  boards: fieldsOf('boards'),
  pins: fieldsOf('pins'),
  memberships: { board_id: 'integer', user_id: 'integer' },
  events: {
    ...{
      id: 'integer',
      type: TEXT,
      action: TEXT,
      owner_id: 'integer',
      actor_id: 'integer',
      board_id: 'integer',
    },
    ...{ pin_id: 'integer', timestamp: 'instant', organization_id: 'integer', organization_name: TEXT },
    ...{ organization_domain: TEXT, organization_category_id: 'integer', body: TEXT },
  },
  points: {
    user_id: 'integer',
    board_id: 'integer',
    total_points: 'integer',
    participation_score: 'integer',
  },
  adjustments: {
    ...{ user_id: 'integer', board_id: 'integer', points: 'integer', timestamp: 'instant', reason: TEXT },
  },
};

type Fields = Readonly<Record<string, FieldType>>;

/** Fields of users, boards or pins: the columns of the table that are part of records. */
function fieldsOf(table: 'users' | 'boards' | 'pins'): Fields {
  const fields = saidColumns(table).map(
    ([name, type]) => FIELD_OF[name] ?? ([name, type === 'list' ? 'texts' : TEXT] as const),
  );
  return { id: 'integer', ...Object.fromEntries<FieldType>(fields) };
}

type Cell = string | bigint | number | undefined;
type ExportRow = Readonly<Record<string, Cell>>;

/**
 * The records of a version, by kind. Must be read in the order of `RECORD_KINDS`, because rows
 * refer to rows of earlier kinds by index.
 */
export class VersionRecords {
  readonly #original: VersionRows;
  readonly #users: bigint[] = [];
  readonly #boards: bigint[] = [];
  readonly #pins: bigint[] = [];

  constructor(original: VersionRows) {
    this.#original = original;
  }

  /**
   * LMS properties of users, by index of the user: name with prefix (`lms.sis_user_id`) and value.
   */
  async properties(): Promise<ReadonlyMap<Cell, Readonly<Record<string, string>>>> {
    const all = new Map<Cell, Record<string, string>>();
    for await (const rows of this.#rows('user_properties')) {
      for (const { person, property, value } of rows) {
        const known = all.get(person) ?? {};
        known[`lms.${property}`] = String(value);
        all.set(person, known);
      }
    }
    return all;
  }

  async *users(properties: ReadonlyMap<Cell, Readonly<Record<string, string>>>) {
    for await (const rows of this.#rows('users')) {
      yield rows.map(({ ix, id, created_ms, forgotten, ...others }): BundleRecord => {
        this.#users.push(BigInt(id!));
        const fields = Object.entries(others).filter(([name]) => !name.startsWith('revised'));
        const gone = Number(forgotten) === 1 ? { forgotten: 'true' } : {};
        const created_at = instantOf(created_ms);
        return { id, ...Object.fromEntries(fields), created_at, ...gone, ...properties.get(ix) };
      });
    }
  }

  async *boards() {
    for await (const rows of this.#rows('boards')) {
      yield rows.map(({ ix: _ix, id, created_ms, revised: _revised, ...fields }): BundleRecord => {
        this.#boards.push(BigInt(id!));
        return { id, ...fields, created_at: instantOf(created_ms) };
      });
    }
  }

  async *pins() {
    for await (const rows of this.#rows('pins')) {
      yield rows.map(
        ({ ix: _ix, id, board, owner, tags, created_ms, revised: _revised, ...texts }): BundleRecord => {
          this.#pins.push(BigInt(id!));
          const [board_id, owner_id] = [idOf(this.#boards, board), idOf(this.#users, owner)];
          const list: readonly string[] = JSON.parse(String(tags));
          return { id, board_id, owner_id, ...texts, tags: list, created_at: instantOf(created_ms) };
        },
      );
    }
  }

  async *memberships() {
    for await (const rows of this.#rows('memberships'))
      yield rows.map((row): BundleRecord => this.#pair(row));
  }

  /**
   * The events in the order of decision 4, which an import of the export keeps. The first
   * event names the organization.
   */
  async *events() {
    const kinds: ExportRow[] = [];
    for await (const rows of this.#rows('kinds')) kinds.push(...rows);
    let identity: BundleRecord = this.#identity();
    for await (const rows of this.#rows('events')) {
      yield rows.map(({ id, kind, owner, actor, board, pin, timestamp_ms, body }): BundleRecord => {
        const { type, action } = kinds[Number(kind)]!;
        const [owner_id, actor_id] = [idOf(this.#users, owner), idOf(this.#users, actor)];
        const [board_id, pin_id] = [idOf(this.#boards, board), idOf(this.#pins, pin)];
        const named = identity;
        identity = {};
        return {
          ...{ id, type, action, owner_id, actor_id, board_id, pin_id },
          ...{ timestamp: instantOf(timestamp_ms), ...named, body },
        };
      });
    }
  }

  async *points() {
    for await (const rows of this.#rows('imported_points')) {
      yield rows.map(({ total_points, participation_score, ...pair }): BundleRecord => {
        const { board_id, user_id } = this.#pair(pair);
        return { user_id, board_id, total_points, participation_score };
      });
    }
  }

  async *adjustments() {
    for await (const rows of this.#rows('adjustments')) {
      yield rows.map(({ points, timestamp_ms, reason, ...pair }): BundleRecord => {
        const { board_id, user_id } = this.#pair(pair);
        return { user_id, board_id, points, timestamp: instantOf(timestamp_ms), reason };
      });
    }
  }

  #pair({ board, person }: ExportRow): { board_id: bigint | undefined; user_id: bigint | undefined } {
    return { board_id: idOf(this.#boards, board), user_id: idOf(this.#users, person) };
  }

  #identity(): BundleRecord {
    const { id, title, domain, categoryId } = this.#original.entry.settings;
    return {
      ...{ organization_id: id, organization_name: title, organization_domain: domain },
      organization_category_id: categoryId,
    };
  }

  async *#rows(table: CopiedTable): AsyncGenerator<readonly ExportRow[]> {
    const columns = columnsOf(table).map(({ name }) => name);
    for await (const rows of this.#original.rows(table)) yield rowsOf(columns, rows);
  }
}

function rowsOf(names: readonly string[], { count, columns }: CopiedRows): readonly ExportRow[] {
  return Array.from({ length: count }, (_, at) =>
    Object.fromEntries(
      columns.map(({ values, present }, place) => [
        names[place],
        present === undefined || present[at] === 1 ? values[at] : undefined,
      ]),
    ),
  );
}

function idOf(ids: readonly bigint[], index: Cell): bigint | undefined {
  return index === undefined ? undefined : ids[Number(index)];
}

function instantOf(ms: Cell): string | undefined {
  return ms === undefined ? undefined : formatInstant(Number(ms));
}
