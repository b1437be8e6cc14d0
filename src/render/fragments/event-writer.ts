/** Events as bytes: fragments are copied for each row of the columns. */
import type { EventBatch, EventTally, Occurrences } from '../../dataset/query.ts';
import type { EventKind, Organization } from '../../dataset/records.ts';
import { inSlices } from '../../system/time-slice.ts';
import { type Chunk, copyFragment, copyHead, copyTail } from '../text/chunk.ts';
import { kindColumns, organizationColumns } from '../text/fields.ts';
import type { FragmentMemory } from '../text/fragment-memory.ts';
import { Fragments, fragmentsOf, type SharedFragments } from '../text/fragments.ts';
import type { RowWriter } from '../text/frame.ts';
import type { SharedMemory } from '../text/gather.ts';
import { TIMESTAMP_BYTES, TimestampWriter } from '../text/timestamp.ts';
import type { EventForm } from './event-form.ts';
import { BETWEEN_PEOPLE, EventGatherer, WITHOUT_PIN } from './event-gatherer.ts';

/**
 * Everything from which the events of one dataset are composed, in one notation, for any thread.
 */
export interface SharedEventParts {
  /** Identifies the parts in all threads. */
  readonly id: number;
  /** The memory that contains all of the fragments; absent if some are elsewhere. */
  readonly memory: SharedMemory | undefined;
  readonly kinds: SharedFragments;
  readonly fixed: SharedFragments;
  readonly people: SharedFragments;
  readonly boards: SharedFragments;
  readonly pins: SharedFragments;
  readonly end: string;
  /** By kind: bytes of an event that do not depend on its users, board and pin. */
  readonly sizeOfKind: Float64Array;
  /** The maximum size of an event in bytes. */
  readonly largest: number;
}

/** The number of parts made so far in this process. */
let made = 0;

/**
 * Makes the parts of a dataset in one notation. `people`, `boards` and `pins` are its fragments by
 * index. If all fragments are in `memory`, events are gathered from there.
 */
export function makeEventParts(
  form: EventForm,
  dataset: { readonly kinds: readonly EventKind[]; readonly organization: Organization },
  { people, boards, pins }: Readonly<Record<'people' | 'boards' | 'pins', Fragments>>,
  memory: FragmentMemory | undefined,
): EventParts {
  const columns = kindColumns(dataset.kinds);
  const kinds = fragmentsOf(
    dataset.kinds.map((_, kind) => form.kind(columns, kind)),
    memory,
  );
  const withoutPin = form.organization(organizationColumns(dataset.organization)) + form.withoutPin;
  const fixed = fragmentsOf([[form.betweenPeople], [withoutPin]], memory);
  const always = fixed.size(BETWEEN_PEOPLE) + TIMESTAMP_BYTES + form.end.length;
  const sizeOfKind = Float64Array.from(dataset.kinds, (kind, index) => {
    const activity = kind.type === 'pin' ? kinds.tailSize(index) : fixed.size(WITHOUT_PIN);
    return always + kinds.headSize(index) + activity;
  });
  const shared = {
    kinds: kinds.share(),
    fixed: fixed.share(),
    people: people.share(),
    boards: boards.share(),
    pins: pins.share(),
  };
  const isGathered = Object.values(shared).every((fragments) => fragments.isGathered);
  return new EventParts({
    ...shared,
    id: ++made,
    memory: isGathered ? memory?.memory : undefined,
    end: form.end,
    sizeOfKind,
    largest: largestOf(sizeOfKind) + 2 * shared.people.largest + shared.boards.largest + shared.pins.largest,
  });
}

function largestOf(sizes: Float64Array): number {
  return sizes.reduce((largest, size) => Math.max(largest, size), 0);
}

export class EventParts {
  readonly kinds: Fragments;
  readonly fixed: Fragments;
  readonly people: Fragments;
  readonly boards: Fragments;
  readonly pins: Fragments;
  /** For a different thread, which makes `new EventParts` of it. */
  readonly shared: SharedEventParts;
  readonly #sizeOfKind: Float64Array;
  readonly #timestamps: TimestampWriter;
  readonly #gatherer: EventGatherer | undefined;

  constructor(shared: SharedEventParts) {
    this.kinds = new Fragments(shared.kinds);
    this.fixed = new Fragments(shared.fixed);
    this.people = new Fragments(shared.people);
    this.boards = new Fragments(shared.boards);
    this.pins = new Fragments(shared.pins);
    this.shared = shared;
    this.#sizeOfKind = shared.sizeOfKind;
    this.#timestamps = new TimestampWriter(shared.end);
    this.#gatherer = shared.memory && new EventGatherer(this, shared.end, shared.memory);
  }

  /** Exact size of one event in bytes. */
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

  write(batch: EventBatch, row: number, chunk: Chunk): void {
    const { block } = chunk;
    const kind = batch.kind[row]!;
    const pin = batch.pin[row]!;
    let at = copyHead(this.kinds, kind, block, chunk.length);
    at = copyFragment(this.people, batch.owner[row]!, block, at);
    at = copyFragment(this.fixed, BETWEEN_PEOPLE, block, at);
    at = copyFragment(this.people, batch.actor[row]!, block, at);
    if (pin < 0) {
      at = copyFragment(this.fixed, WITHOUT_PIN, block, at);
    } else {
      at = copyHead(this.pins, pin, block, at);
      at = copyTail(this.kinds, kind, block, at);
      at = copyTail(this.pins, pin, block, at);
    }
    at = copyFragment(this.boards, batch.board[row]!, block, at);
    chunk.length = this.#timestamps.write(batch.timestampMs[row]!, block, at);
  }

  /** Exact size in bytes of all events of a tally together, in time slices. */
  async measure(tally: EventTally): Promise<number> {
    return (
      (await sumSizes(tally.kind, (kind) => this.#sizeOfKind[kind]!)) +
      (await sumSizes(tally.owner, (owner) => this.people.size(owner))) +
      (await sumSizes(tally.actor, (actor) => this.people.size(actor))) +
      (await sumSizes(tally.board, (board) => this.boards.size(board))) +
      (await sumSizes(tally.pin, (pin) => this.pins.size(pin)))
    );
  }

  run(batch: EventBatch): RowWriter {
    const gatherer = this.#gatherer;
    return {
      count: batch.count,
      largest: this.shared.largest,
      size: (row) => this.size(batch, row),
      write: (row, chunk) => this.write(batch, row, chunk),
      writeMany:
        gatherer && ((row, isFirst, frame, chunk) => gatherer.write(batch, row, isFirst, frame, chunk)),
    };
  }
}

async function sumSizes({ index, count }: Occurrences, size: (index: number) => number): Promise<number> {
  let sum = 0;
  await inSlices(0, index.length, (from, to) => {
    for (let place = from; place < to; place++) sum += count[place]! * size(index[place]!);
  });
  return sum;
}
