/**
 * Small responses while the fragments of a dataset are not made: only the records that occur in a
 * response are rendered. The first responses after a version is opened therefore do not wait until
 * a million users are rendered, and a version that is requested only once never renders them.
 */
import type { EventBatch } from '../../dataset/query.ts';
import type { RecordColumns, RecordTable } from '../../dataset/records.ts';
import { type Fragments, fragmentsOfFew, type Halves } from '../text/fragments.ts';

/** Rendering this many records takes a few milliseconds, unless their texts are long. */
const FEW_RECORDS = 1024;
/** If there are fewer records for each that occurs, all of them are rendered almost as fast. */
const LEAST_RECORDS = 4;

/** Whether only the records that occur are rendered, if `occurring` of `records` do. */
export function areFew(occurring: number, records: number): boolean {
  return occurring <= FEW_RECORDS && records >= LEAST_RECORDS * occurring;
}

/** Fragments, and a column with the number of a fragment in place of each index of a record. */
export interface NumberedFragments {
  readonly fragments: Fragments;
  readonly numbers: Int32Array;
}

/** The records of one table that occur, numbered in the order of their first occurrence. */
export class Occurring<T extends RecordTable> {
  readonly #records: RecordColumns<T>;
  readonly #numbers = new Map<number, number>();

  constructor(records: RecordColumns<T>) {
    this.#records = records;
  }

  /** -1, for no record, stays as it is. */
  renumber(indices: Int32Array): Int32Array {
    return indices.map((index) => {
      if (index < 0) return index;
      const number = this.#numbers.get(index) ?? this.#numbers.size;
      this.#numbers.set(index, number);
      return number;
    });
  }

  /** Fragments by number, in time slices. */
  async render(halvesOf: (records: RecordColumns<T>, index: number) => Halves): Promise<Fragments> {
    return await fragmentsOfFew(this.#numbers.keys(), (index) => halvesOf(this.#records, index));
  }
}

/** The events with the numbers of the records that occur, in place of their indices. */
export function renumberEvents(
  batches: readonly EventBatch[],
  { users, boards, pins }: { readonly [T in RecordTable]: Occurring<T> },
): EventBatch[] {
  return batches.map((batch) => ({
    ...batch,
    actor: users.renumber(batch.actor),
    owner: users.renumber(batch.owner),
    board: boards.renumber(batch.board),
    pin: pins.renumber(batch.pin),
  }));
}
