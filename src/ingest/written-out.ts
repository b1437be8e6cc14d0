/**
 * Remembers which people, boards and pins earlier events of the import have written out, and how, so that the same
 * person is neither staged nor checked a million times.
 */
import type { RecordKind, RecordOf } from '../dataset/staging.ts';

/** What an event can write out. */
type ThingKind = 'users' | 'boards' | 'pins';

/** The latest that was said about a thing. */
export interface Latest<K extends ThingKind> {
  readonly record: RecordOf[K];
  /** How the latest event that says so goes on after the id of the thing, in UTF-8; absent unless known. */
  text?: Buffer | undefined;
}

/** By id, as a `number` where that is exact. */
export type Things<K extends ThingKind> = Map<number | bigint, Latest<K>>;

/** How much text is remembered before all is forgotten; forgetting costs time, nothing else. */
const REMEMBERED_CHARACTERS = 60_000_000;
/** What a record takes besides its text, roughly. */
const RECORD_CHARACTERS = 300;
/** Where a record stands is no part of what it says. */
const PLACE: ReadonlySet<string> = new Set(['file', 'line', 'raw']);

export class WrittenOut {
  readonly users: Things<'users'> = new Map();
  readonly boards: Things<'boards'> = new Map();
  readonly pins: Things<'pins'> = new Map();
  #characters = 0;

  /** False when the record says what the latest one of its kind and id said. Other kinds are always news. */
  isNews<K extends RecordKind>(kind: K, record: RecordOf[K]): boolean {
    // The kind tells the type of the record, which the compiler does not follow.
    if (kind === 'users') return this.#isNewsAmong(this.users, record as RecordOf['users']);
    if (kind === 'boards') return this.#isNewsAmong(this.boards, record as RecordOf['boards']);
    if (kind === 'pins') return this.#isNewsAmong(this.pins, record as RecordOf['pins']);
    return true;
  }

  /** Remembers how the latest event writes out a thing that is remembered. */
  setText(latest: Latest<ThingKind>, text: Buffer): void {
    if (latest.text?.equals(text)) return;
    this.#characters += text.length - (latest.text?.length ?? 0);
    latest.text = text;
  }

  #isNewsAmong<K extends ThingKind>(things: Things<K>, record: RecordOf[K]): boolean {
    const id = Number.isSafeInteger(Number(record.id)) ? Number(record.id) : record.id;
    const known = things.get(id);
    if (known !== undefined && saysTheSame(record, known.record)) return false;
    if (this.#characters >= REMEMBERED_CHARACTERS) this.#forget();
    this.#characters += RECORD_CHARACTERS + textLength(record);
    // A copy: texts cut from a large block would keep the whole block in memory.
    things.set(id, { record: structuredClone({ ...record, raw: undefined }) });
    return true;
  }

  #forget(): void {
    for (const things of [this.users, this.boards, this.pins]) things.clear();
    this.#characters = 0;
  }
}

function saysTheSame<R extends RecordOf[ThingKind]>(record: R, known: R): boolean {
  // Both come from the same code, so that they have the same fields.
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

function textLength(record: RecordOf[ThingKind]): number {
  return Object.values(record).reduce(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
    0,
  );
}
