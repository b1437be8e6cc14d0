/**
 * Events as the row groups of a Parquet file: what they are made of is gathered row by row, each person, board and pin
 * once, and read back from the fragments when a group is full. The columns are those of CSV.
 */
import type { EventBatch } from '../dataset/query.ts';
import type { Kind, Organization } from '../dataset/records.ts';
import { inSlices } from '../time-slice.ts';
import { ACTION, KIND, READ_PART } from './event-form.ts';
import type { EventParts } from './event-run.ts';
import {
  BOARD,
  ORGANIZATION,
  PERSON,
  PIN_AFTER_ACTIVITY,
  PIN_BEFORE_ACTIVITY,
  type Value,
} from './fields.ts';
import { renderJson } from './notation.ts';
import type { ParquetColumn } from './parquet-file.ts';
import type { ColumnValues } from './parquet-pages.ts';

/** Of a row group. */
const MOST_ROWS = 65_536;
/** Of the people, boards and pins of a row group; one more than fits is taken. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Things read from fragments, and cells made of them, between two looks at the clock. */
export const READ_AT_ONCE = 64;
const CELLS_AT_ONCE = 2048;

/** The values of one thing by the names of its fields. */
type Thing = Readonly<Record<string, Value>>;

/** Fields of one thing that stand side by side. Those of pins are absent where there is none. */
interface Section {
  readonly of: 'kind' | 'owner' | 'actor' | 'organization' | 'pin' | 'activity' | 'board';
  readonly prefix: string;
  readonly fields: readonly string[];
}

const SECTIONS: readonly Section[] = [
  { of: 'kind', prefix: '', fields: Object.keys(KIND) },
  { of: 'owner', prefix: 'owner_', fields: Object.keys(PERSON) },
  { of: 'actor', prefix: 'actor_', fields: Object.keys(PERSON) },
  { of: 'organization', prefix: 'organization_', fields: Object.keys(ORGANIZATION) },
  { of: 'pin', prefix: 'pin_', fields: Object.keys(PIN_BEFORE_ACTIVITY) },
  { of: 'activity', prefix: 'pin_', fields: Object.keys(ACTION) },
  { of: 'pin', prefix: 'pin_', fields: Object.keys(PIN_AFTER_ACTIVITY) },
  { of: 'board', prefix: 'board_', fields: Object.keys(BOARD) },
];

export const EVENT_TABLE: readonly ParquetColumn[] = [
  ...SECTIONS.flatMap(({ of, prefix, fields }) =>
    fields.map((field) => ({
      name: prefix + field,
      type: typeOf(field),
      optional: of === 'pin' || of === 'activity',
    })),
  ),
  { name: 'timestamp', type: 'instant' },
];

/** The type of a field of the contract. */
export function typeOf(field: string): 'integer' | 'text' {
  return /(^|_)id$/.test(field) ? 'integer' : 'text';
}

/** A field as a cell: lists as in CSV. */
function cellOf(value: Value): string | bigint {
  return typeof value === 'string' || typeof value === 'bigint' ? value : renderJson(value);
}

/** A field of all things as cells. */
export async function cellsOf(things: readonly Thing[], field: string): Promise<(string | bigint)[]> {
  const cells: (string | bigint)[] = [];
  const make = (from: number, to: number) => {
    for (let at = from; at < to; at++) cells.push(cellOf(things[at]![field]!));
  };
  await inSlices(0, things.length, make, CELLS_AT_ONCE);
  return cells;
}

/** Things in the order in which they were met, and for each row which one it has. */
class Met {
  readonly indices: number[] = [];
  readonly places = new Int32Array(MOST_ROWS);
  readonly #known = new Map<number, number>();

  /** Whether it was met for the first time; -1 is nothing. */
  add(row: number, index: number): boolean {
    const known = index < 0 ? -1 : this.#known.get(index);
    this.places[row] = known ?? this.indices.length;
    if (known !== undefined) return false;
    this.#known.set(index, this.indices.length);
    this.indices.push(index);
    return true;
  }
}

export class EventGroup {
  rows = 0;
  #bytes = 0;
  readonly #parts: EventParts;
  readonly #kinds: readonly Kind[];
  readonly #organization: Organization;
  readonly #met: Readonly<Record<Section['of'], Met>> = {
    ...{ kind: new Met(), owner: new Met(), actor: new Met(), organization: new Met() },
    ...{ pin: new Met(), activity: new Met(), board: new Met() },
  };
  readonly #timestamps = new Float64Array(MOST_ROWS);

  constructor(
    parts: EventParts,
    { kinds, organization }: { readonly kinds: readonly Kind[]; readonly organization: Organization },
  ) {
    this.#parts = parts;
    this.#kinds = kinds;
    this.#organization = organization;
  }

  get isFull(): boolean {
    return this.rows === MOST_ROWS || this.#bytes >= MOST_BYTES;
  }

  /** Takes rows of a batch from one on, until it is full; answers the first that it has not taken. */
  add(batch: EventBatch, from: number): number {
    let at = from;
    for (; at < batch.count && !this.isFull; at++) this.#add(batch, at);
    return at;
  }

  #add(batch: EventBatch, at: number): void {
    const { people, boards, pins } = this.#parts;
    const met = this.#met;
    const row = this.rows++;
    const [kind, owner, actor] = [batch.kind[at]!, batch.owner[at]!, batch.actor[at]!];
    const [board, pin] = [batch.board[at]!, batch.pin[at]!];
    met.kind.add(row, kind);
    met.organization.add(row, 0);
    met.activity.add(row, pin < 0 ? -1 : kind);
    if (met.owner.add(row, owner)) this.#bytes += people.size(owner);
    if (met.actor.add(row, actor)) this.#bytes += people.size(actor);
    if (met.board.add(row, board)) this.#bytes += boards.size(board);
    if (met.pin.add(row, pin)) this.#bytes += pins.size(pin);
    this.#timestamps[row] = batch.timestampMs[at]!;
  }

  /** In the order of `EVENT_TABLE`. */
  async *columns(): AsyncGenerator<ColumnValues, void> {
    const pins = await this.#readAll('pin');
    for (const { of, fields } of SECTIONS) {
      const { places } = this.#met[of];
      // They stand on both sides of the activity.
      const things = of === 'pin' ? pins : await this.#readAll(of);
      for (const field of fields) {
        yield { values: await cellsOf(things, field), places: places.subarray(0, this.rows) };
      }
    }
    yield { values: this.#timestamps.subarray(0, this.rows) };
  }

  async #readAll(of: Section['of']): Promise<readonly Thing[]> {
    const { indices } = this.#met[of];
    const things: Thing[] = [];
    const read = (from: number, to: number) => {
      for (let at = from; at < to; at++) things.push(this.#read(of, indices[at]!));
    };
    await inSlices(0, indices.length, read, READ_AT_ONCE);
    return things;
  }

  #read(of: Section['of'], index: number): Thing {
    const { people, boards, pins } = this.#parts;
    switch (of) {
      case 'kind':
      case 'activity': {
        const { type, action } = this.#kinds[index]!;
        return { type, action, activity: action };
      }
      case 'owner':
      case 'actor':
        return READ_PART.person(people.head(index));
      case 'organization': {
        const { id, title, domain, categoryId } = this.#organization;
        return { id, name: title, domain, category_id: categoryId };
      }
      case 'pin':
        return READ_PART.pin(pins.head(index), pins.tail(index));
      case 'board':
        return READ_PART.board(boards.head(index));
    }
  }
}
