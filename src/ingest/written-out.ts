/**
 * Remembers which people, boards and pins earlier events of the import have written out, and how, so that the same
 * person is not staged a million times.
 */
import type { RecordKind, RecordOf } from '../dataset/staging.ts';

/** What an event can write out. */
type Thing = RecordOf['users' | 'boards' | 'pins'];

/** How much text is remembered before all is forgotten; forgetting costs time, nothing else. */
const REMEMBERED_CHARACTERS = 100_000_000;
/** What a record takes besides its text, roughly. */
const RECORD_CHARACTERS = 200;
/** Where a record stands is no part of what it says. */
const PLACE: ReadonlySet<string> = new Set(['file', 'line', 'raw']);

export class WrittenOut {
  readonly #users = new Map<bigint, Thing>();
  readonly #boards = new Map<bigint, Thing>();
  readonly #pins = new Map<bigint, Thing>();
  #characters = 0;

  /** False when the record says what the latest one of its kind and id said. Other kinds are always news. */
  isNews<K extends RecordKind>(kind: K, record: RecordOf[K]): boolean {
    // The kind tells the type of the record, which the compiler does not follow.
    if (kind === 'users') return this.#isNewsAmong(this.#users, record as Thing);
    if (kind === 'boards') return this.#isNewsAmong(this.#boards, record as Thing);
    if (kind === 'pins') return this.#isNewsAmong(this.#pins, record as Thing);
    return true;
  }

  #isNewsAmong(latest: Map<bigint, Thing>, record: Thing): boolean {
    const known = latest.get(record.id);
    if (known !== undefined && saysTheSame(record, known)) return false;
    if (this.#characters >= REMEMBERED_CHARACTERS) this.#forget();
    this.#characters += RECORD_CHARACTERS + textLength(record);
    // A copy: texts cut from a large block would keep the whole block in memory.
    latest.set(record.id, structuredClone({ ...record, raw: undefined }));
    return true;
  }

  #forget(): void {
    for (const latest of [this.#users, this.#boards, this.#pins]) latest.clear();
    this.#characters = 0;
  }
}

function saysTheSame(record: Thing, known: Thing): boolean {
  // Both come from the same code, so that they have the same fields.
  for (const field in record) {
    if (PLACE.has(field)) continue;
    const [said, before] = [record[field as keyof Thing] as unknown, known[field as keyof Thing] as unknown];
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

function textLength(record: Thing): number {
  return Object.values(record).reduce(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
    0,
  );
}
