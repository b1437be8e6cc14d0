/**
 * Remembers the users, boards and pins in earlier events of the import, so that the same user is
 * not staged and checked a million times.
 */
import type { PinRecord, RecordKind, RecordOf } from '../../store/staging.ts';

/** Kinds of records that an event can contain. */
type ThingKind = 'users' | 'boards' | 'pins';

/** The latest description of a user, board or pin. */
export interface Latest<K extends ThingKind> {
  readonly record: RecordOf[K];
  /** Owner and board of a pin, as a `number` that may be inexact. */
  readonly ownerId: number;
  readonly boardId: number;
  /**
   * Position in `texts` of the text that follows the id in the latest event with this record. The
   * text is unknown if its length is 0.
   */
  textAt: number;
  textLength: number;
}

/** By id, which is a `number` if that is exact. */
export type Things<K extends ThingKind> = Map<number | bigint, Latest<K>>;

/** How much text is kept until all is discarded. Discarding costs only time. */
const REMEMBERED_CHARACTERS = 60_000_000;
const FIRST_TEXT_BYTES = 65_536;
/** Approximate size of a record besides its text, in characters. */
const RECORD_CHARACTERS = 300;
/** The location of a record is not part of its content. */
const PLACE: ReadonlySet<string> = new Set(['file', 'line', 'raw']);

export class KnownRecords {
  readonly users: Things<'users'> = new Map();
  readonly boards: Things<'boards'> = new Map();
  readonly pins: Things<'pins'> = new Map();
  /** The texts in UTF-8, one after the other. */
  texts = new DataView(new ArrayBuffer(FIRST_TEXT_BYTES));
  #textBytes = 0;
  #characters = 0;

  /**
   * Returns false if the record is equal to the latest one of its kind and id. Records of other
   * kinds are always new. `isCut`: texts of the record may be slices of a large text, which they
   * would keep in memory.
   */
  isNews<K extends RecordKind>(kind: K, record: RecordOf[K], isCut: boolean): boolean {
    // The kind determines the type of the record, which the compiler cannot infer.
    if (kind === 'users') return this.#isNewsAmong(this.users, record as RecordOf['users'], isCut);
    if (kind === 'boards') return this.#isNewsAmong(this.boards, record as RecordOf['boards'], isCut);
    if (kind === 'pins') return this.#isNewsAmong(this.pins, record as RecordOf['pins'], isCut);
    return true;
  }

  /** Stores the text that the latest event contains for a remembered record. */
  setText(latest: Latest<ThingKind>, text: string): void {
    const bytes = Buffer.from(text);
    if (latest.textLength < bytes.length) {
      // Texts that change all the time fill the memory with gaps.
      if (this.#isFull) {
        this.discard();
        return;
      }
      this.#reserve(bytes.length);
      latest.textAt = this.#textBytes;
      this.#textBytes += bytes.length;
    }
    latest.textLength = bytes.length;
    Buffer.from(this.texts.buffer).set(bytes, latest.textAt);
  }

  /** Discards all records. */
  discard(): void {
    for (const things of [this.users, this.boards, this.pins]) things.clear();
    this.#characters = 0;
    this.#textBytes = 0;
  }

  get #isFull(): boolean {
    return this.#characters + this.#textBytes >= REMEMBERED_CHARACTERS;
  }

  #reserve(length: number): void {
    const { buffer } = this.texts;
    const needed = this.#textBytes + length;
    if (needed <= buffer.byteLength) return;
    this.texts = new DataView(buffer.transfer(Math.max(2 * buffer.byteLength, needed)));
  }

  #isNewsAmong<K extends ThingKind>(things: Things<K>, record: RecordOf[K], isCut: boolean): boolean {
    const { id: given }: RecordOf[ThingKind] = record;
    const id = Number.isSafeInteger(Number(given)) ? Number(given) : given;
    const known = things.get(id);
    if (known !== undefined && saysTheSame(record, known.record)) return false;
    if (this.#isFull) this.discard();
    this.#characters += RECORD_CHARACTERS + textLength(record);
    const kept = { ...record, raw: undefined };
    // Only pins have an owner and a board.
    const { ownerId, boardId }: Partial<PinRecord> = record;
    things.set(id, {
      record: isCut ? structuredClone(kept) : kept,
      ownerId: Number(ownerId),
      boardId: Number(boardId),
      textAt: 0,
      textLength: 0,
    });
    return true;
  }
}

function saysTheSame<R extends RecordOf[ThingKind]>(record: R, known: R): boolean {
  // Both records are made by the same code, so they have the same fields.
  for (const field in record) {
    if (PLACE.has(field)) continue;
    const [said, before]: unknown[] = [record[field], known[field]];
    if (said !== before && !areSameTags(said, before)) return false;
  }
  return true;
}

function areSameTags(said: unknown, before: unknown): boolean {
  return (
    Array.isArray(said) &&
    Array.isArray(before) &&
    said.length === before.length &&
    said.every((tag, at) => tag === before[at])
  );
}

/** Of all texts in the value, also those in lists and maps. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, one) => sum + textLength(one), 0);
}
