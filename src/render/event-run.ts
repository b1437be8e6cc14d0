/** Events as bytes: a copy of fragments for each row of the columns. */
import type { EventBatch, EventTally, Occurrences } from '../dataset/query.ts';
import type { Kind, Organization } from '../dataset/records.ts';
import type { Chunk } from './chunk.ts';
import type { EventForm } from './event-form.ts';
import { type Fragments, fragmentsOf } from './fragments.ts';
import type { Run } from './frame.ts';
import { TIMESTAMP_BYTES, TimestampWriter } from './timestamp.ts';

// Indices of the parts that are the same for every event.
const BETWEEN_PEOPLE = 0;
const WITHOUT_PIN = 1;

/** Everything that the events of one dataset are put together from, in one notation. */
export class EventParts {
  readonly kinds: Fragments;
  readonly fixed: Fragments;
  readonly people: Fragments;
  readonly boards: Fragments;
  readonly pins: Fragments;
  readonly #end: string;
  /** Bytes of an event that do not depend on its people, board and pin, by kind. */
  readonly #sizeOfKind: Float64Array;
  /** No event takes more bytes. */
  readonly #largest: number;

  constructor(
    form: EventForm,
    dataset: { readonly kinds: readonly Kind[]; readonly organization: Organization },
    fragments: { readonly people: Fragments; readonly boards: Fragments; readonly pins: Fragments },
  ) {
    this.kinds = fragmentsOf(dataset.kinds.map(form.kind));
    const withoutPin = form.organization(dataset.organization) + form.withoutPin;
    this.fixed = fragmentsOf([[form.betweenPeople], [withoutPin]]);
    this.people = fragments.people;
    this.boards = fragments.boards;
    this.pins = fragments.pins;
    this.#end = form.end;
    const always = this.fixed.size(BETWEEN_PEOPLE) + TIMESTAMP_BYTES + form.end.length;
    this.#sizeOfKind = Float64Array.from(dataset.kinds, (kind, index) => {
      const activity = kind.type === 'pin' ? this.kinds.tailSize(index) : this.fixed.size(WITHOUT_PIN);
      return always + this.kinds.headSize(index) + activity;
    });
    this.#largest =
      this.#sizeOfKind.reduce((largest, size) => Math.max(largest, size), 0) +
      2 * this.people.largestSize() +
      this.boards.largestSize() +
      this.pins.largestSize();
  }

  /** Exact bytes of one event. */
  size(batch: EventBatch, row: number): number {
    const pin = batch.pin[row]!;
    return (
      this.#sizeOfKind[batch.kind[row]!]! +
      this.people.size(batch.owner[row]!) +
      this.people.size(batch.actor[row]!) +
      this.boards.size(batch.board[row]!) +
      (pin < 0 ? 0 : this.pins.size(pin))
    );
  }

  write(batch: EventBatch, row: number, timestamps: TimestampWriter, chunk: Chunk): void {
    const kind = batch.kind[row]!;
    const pin = batch.pin[row]!;
    chunk.appendHead(this.kinds, kind);
    chunk.append(this.people, batch.owner[row]!);
    chunk.append(this.fixed, BETWEEN_PEOPLE);
    chunk.append(this.people, batch.actor[row]!);
    if (pin < 0) {
      chunk.append(this.fixed, WITHOUT_PIN);
    } else {
      chunk.appendHead(this.pins, pin);
      chunk.appendTail(this.kinds, kind);
      chunk.appendTail(this.pins, pin);
    }
    chunk.append(this.boards, batch.board[row]!);
    timestamps.write(batch.timestampMs[row]!, chunk);
  }

  /** Exact bytes of all events of a tally together. */
  measure(tally: EventTally): number {
    return (
      sumSizes(tally.kind, (kind) => this.#sizeOfKind[kind]!) +
      sumSizes(tally.owner, (owner) => this.people.size(owner)) +
      sumSizes(tally.actor, (actor) => this.people.size(actor)) +
      sumSizes(tally.board, (board) => this.boards.size(board)) +
      sumSizes(tally.pin, (pin) => this.pins.size(pin))
    );
  }

  run(batch: EventBatch): Run {
    const timestamps = new TimestampWriter(this.#end);
    return {
      count: batch.count,
      largest: this.#largest,
      size: (row) => this.size(batch, row),
      write: (row, chunk) => this.write(batch, row, timestamps, chunk),
    };
  }
}

function sumSizes(occurrences: Occurrences, size: (index: number) => number): number {
  return occurrences.count.reduce((sum, count, at) => sum + count * size(occurrences.index[at]!), 0);
}
