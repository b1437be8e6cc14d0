/**
 * Renders many events at once: the fragments of a few dozen events are listed, gathered, and given
 * their timestamps (see `gather.ts`).
 */
import type { EventBatch } from '../../dataset/query.ts';
import type { Chunk } from '../text/chunk.ts';
import { blockOver, type Fragments, PLACE_LENGTH } from '../text/fragments.ts';
import type { Frame } from '../text/frame.ts';
import { GATHERED, LIST, MOST_GATHERED_BYTES, openGather, type SharedMemory } from '../text/gather.ts';
import { TimestampWriter } from '../text/timestamp.ts';

/**
 * Events per call of `gather`, few enough that the result stays in the cache of a core. Measured:
 * 32 to 128 are equally fast.
 */
const MOST_EVENTS = 64;

const gathered = blockOver(GATHERED.buffer, GATHERED.byteOffset);

/** The fragments of which events are composed. */
export interface Pieces {
  readonly kinds: Fragments;
  readonly fixed: Fragments;
  readonly people: Fragments;
  readonly boards: Fragments;
  readonly pins: Fragments;
}

/** Indices of the `fixed` fragments, which are the same for every event. */
export const BETWEEN_PEOPLE = 0;
export const WITHOUT_PIN = 1;

export class EventGatherer {
  readonly #pieces: Pieces;
  /** The text after each timestamp that belongs to the event. */
  readonly #end: string;
  readonly #gather: (pieces: number) => void;
  /** Keyed by the text between the end of an event and the start of the next one. */
  readonly #timestamps = new Map<string, TimestampWriter>();
  /** Positions of the timestamps of the listed events in the output. */
  readonly #timestampAt = new Int32Array(MOST_EVENTS);
  /** The number of listed fragments, and of their bytes. */
  #listed = 0;
  #bytes = 0;
  /** Depends on the places that were touched, so that touching is not optimized away. */
  touched = 0;

  /** `memory` contains all of the fragments. */
  constructor(pieces: Pieces, end: string, memory: SharedMemory) {
    this.#pieces = pieces;
    this.#end = end;
    this.#gather = openGather(memory);
  }

  /** As `Run.writeMany`. */
  write(batch: EventBatch, row: number, isFirst: boolean, frame: Frame, chunk: Chunk): number {
    const { beforeFirst, beforeOthers } = frame;
    const timestamps = this.#timestampsBefore(frame.afterEach + beforeOthers);
    let next = row;
    for (;;) {
      const before = isFirst && next === row ? beforeFirst : beforeOthers;
      const count = this.#list(batch, next, timestamps.length, chunk.room - before.length);
      if (count === 0) return next;
      this.#gather(this.#listed);
      for (let listed = 0; listed < count; listed++) {
        timestamps.write(batch.timestampMs[next + listed]!, gathered, this.#timestampAt[listed]!);
      }
      chunk.appendAscii(before);
      // The output ends with the text before the next event, which is not written yet.
      chunk.appendBytes(GATHERED, this.#bytes - beforeOthers.length);
      next += count;
    }
  }

  #timestampsBefore(text: string): TimestampWriter {
    let writer = this.#timestamps.get(text);
    if (writer === undefined) {
      writer = new TimestampWriter(this.#end + text);
      this.#timestamps.set(text, writer);
    }
    return writer;
  }

  /**
   * Loads places into the CPU cache. These reads overlap because nothing waits for their results.
   * With many records, few places are in the cache.
   */
  #touchPlaces({ owner, actor, pin, board }: EventBatch, from: number, to: number): void {
    const { people, boards, pins } = this.#pieces;
    let touched = 0;
    for (let row = from; row < to; row++) {
      touched |=
        people.places[owner[row]! * PLACE_LENGTH]! |
        people.places[actor[row]! * PLACE_LENGTH]! |
        pins.places[Math.max(0, pin[row]!) * PLACE_LENGTH]! |
        boards.places[board[row]! * PLACE_LENGTH]!;
    }
    this.touched = touched;
  }

  /**
   * Lists the fragments of events from `row` on, as many events as fit. Returns the number of
   * events.
   */
  #list(batch: EventBatch, row: number, timestampBytes: number, room: number): number {
    const { kinds, fixed, people, boards, pins } = this.#pieces;
    const mostBytes = Math.min(room, MOST_GATHERED_BYTES);
    const end = Math.min(batch.count, row + MOST_EVENTS);
    this.#touchPlaces(batch, row, end);
    let at = 0;
    let bytes = 0;
    let next = row;
    for (; next < end; next++) {
      const kind = batch.kind[next]!;
      const pin = batch.pin[next]!;
      let size = bytes;
      size += list(at, kinds.places, kind, START, HEAD_END);
      size += list(at + 2, people.places, batch.owner[next]!, START, END);
      size += list(at + 4, fixed.places, BETWEEN_PEOPLE, START, END);
      size += list(at + 6, people.places, batch.actor[next]!, START, END);
      let last = at + 10;
      if (pin < 0) {
        size += list(at + 8, fixed.places, WITHOUT_PIN, START, END);
      } else {
        size += list(at + 8, pins.places, pin, START, HEAD_END);
        size += list(at + 10, kinds.places, kind, HEAD_END, END);
        size += list(at + 12, pins.places, pin, HEAD_END, END);
        last = at + 14;
      }
      size += list(last, boards.places, batch.board[next]!, START, END);
      // Lengthens the board by the timestamp: the bytes after the board are copied too, and the
      // timestamp overwrites them.
      LIST[last + 1]! += timestampBytes;
      if (size + timestampBytes > mostBytes) break;
      this.#timestampAt[next - row] = size;
      bytes = size + timestampBytes;
      at = last + 2;
    }
    this.#listed = at >> 1;
    this.#bytes = bytes;
    return next - row;
  }
}

// Offsets in the place of a fragment: its start, the end of its head, and its end.
const START = 1;
const HEAD_END = 2;
const END = 3;

/** Lists a fragment, or one half of it. Returns its length. */
function list(at: number, places: Uint32Array, index: number, start: number, end: number): number {
  const place = index * PLACE_LENGTH;
  const from = places[place + start]!;
  const length = places[place + end]! - from;
  LIST[at] = from;
  LIST[at + 1] = length;
  return length;
}
