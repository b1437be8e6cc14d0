/**
 * The quick way for nested events as the API writes them: what an event writes out byte for byte as the latest one
 * did is known again without reading the JSON. Any other event is left to the careful way, from which this one learns.
 */
import { readPlainInstant } from '../../domain/instant.ts';
import { escapeLineEnds } from '../../domain/json-text.ts';
import type { EventRecord } from '../../store/staging.ts';
import type { Written } from '../fields/form.ts';
import type { Latest, Things, WrittenOut } from './written-out.ts';

const OWNER = viewOf(',"owner":{"id":');
const ACTOR = viewOf(',"actor":{"id":');
const PIN = viewOf(',"pin":{"id":');
const BOARD = viewOf(',"board":{"id":');
const TIMESTAMP = viewOf(',"timestamp":"');
const END = viewOf('"}');
const OWNER_BYTES = Buffer.from(',"owner":');
const ZERO = 48;
const NINE = 57;
/** So many digits are exact in a `number`. */
const DIGITS = 15;
const THING = /^\{"id":(\d{1,15})(?!\d)/;
const NOWHERE = -1;
const WORD_BYTES = 8;

/** The beginning of an event up to its owner, and what follows from it. */
interface Start {
  readonly type: string;
  readonly action: string;
  /** The member of the pin that repeats the action. */
  readonly activity: DataView;
}

/** Different beginnings, which are types times actions, that are remembered. */
const MOST_STARTS = 1000;

export class NestedEvents {
  readonly #file: number;
  readonly #writtenOut: WrittenOut;
  readonly #starts = new Map<string, Start>();
  #organization = viewOf('');
  /** The block that is read, and where the line in it ends. */
  #bytes: Buffer = Buffer.alloc(0);
  #view = viewOf('');
  #to = 0;
  /** Where reading goes on; `NOWHERE` when something is not as the latest event wrote it. */
  #place = 0;
  /** The id that has been passed last. */
  #id = 0;

  /** `writtenOut` is that into which the careful way of the same events puts what it takes. */
  constructor(file: number, writtenOut: WrittenOut) {
    this.#file = file;
    this.#writtenOut = writtenOut;
  }

  /** Whether an event has been found that is written so that it can be known again. */
  get isOfUse(): boolean {
    return this.#starts.size > 0;
  }

  /** The event in this line, when all that it writes out is known, so that nothing of it is news. */
  read(bytes: Buffer, from: number, to: number, line: number): EventRecord | undefined {
    const owner = bytes.subarray(from, to).indexOf(OWNER_BYTES);
    this.#place = owner < 0 ? NOWHERE : from + owner;
    const start = this.#starts.get(bytes.toString('latin1', from, Math.max(from, this.#place)));
    if (start === undefined) return undefined;
    if (this.#bytes !== bytes) this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#bytes = bytes;
    this.#to = to;
    const { users, boards, pins } = this.#writtenOut;
    if (!this.#passThing(OWNER, users)) return undefined;
    const ownerId = this.#id;
    if (!this.#passThing(ACTOR, users)) return undefined;
    const actorId = this.#id;
    this.#pass(this.#organization);
    const isPin = start.type === 'pin';
    const pin = isPin ? this.#passThing(PIN, pins, start.activity) : undefined;
    const pinId = isPin ? this.#id : undefined;
    if ((isPin && !pin) || !this.#passThing(BOARD, boards)) return undefined;
    const boardId = this.#id;
    // A pin that moved, or changed hands, is news.
    if (pin && (pin.ownerId !== ownerId || pin.boardId !== boardId)) return undefined;
    this.#pass(TIMESTAMP);
    const timestamp = this.#place;
    if (timestamp === NOWHERE) return undefined;
    this.#place = to - END.byteLength;
    this.#pass(END);
    const timestampMs = readPlainInstant(bytes, timestamp, to - END.byteLength);
    if (this.#place === NOWHERE || timestampMs === undefined) return undefined;
    return {
      file: this.#file,
      line,
      id: undefined,
      type: start.type,
      action: start.action,
      ownerId: BigInt(ownerId),
      actorId: BigInt(actorId),
      boardId: BigInt(boardId),
      pinId: pinId === undefined ? undefined : BigInt(pinId),
      timestampMs,
    };
  }

  /** Learns from an event that the careful way has just taken. */
  learn({ value: event, isCells }: Written, text: string): void {
    if (isCells) return;
    const { type, action } = event;
    const [owner, actor, organization, pin, board, timestamp] = [
      event['owner'],
      event['actor'],
      event['organization'],
      event['pin'],
      event['board'],
      event['timestamp'],
    ].map(writtenByApi);
    const start = `{"type":${JSON.stringify(type)},"action":${JSON.stringify(action)}`;
    const pinned = pin === undefined ? '' : `,"pin":${pin}`;
    const rest = `,"organization":${organization}${pinned},"board":${board},"timestamp":${timestamp}}`;
    // What is written by the same rules means the same, and each part of it is whole.
    if (`${start},"owner":${owner},"actor":${actor}${rest}` !== text) return;
    if (this.#starts.size >= MOST_STARTS) this.#starts.clear();
    const activity = `,"activity":${JSON.stringify(action)}`;
    const bytes = Buffer.from(start).toString('latin1');
    this.#starts.set(bytes, { type: String(type), action: String(action), activity: viewOf(activity) });
    this.#organization = viewOf(`,"organization":${organization}`);
    const { users, boards, pins } = this.#writtenOut;
    this.#learnThing(users, owner, '');
    this.#learnThing(users, actor, '');
    this.#learnThing(pins, pin, activity);
    this.#learnThing(boards, board, '');
  }

  #learnThing<K extends 'users' | 'boards' | 'pins'>(
    things: Things<K>,
    thing: string | undefined,
    activity: string,
  ): void {
    const [start, id] = THING.exec(thing ?? '') ?? [];
    const latest = things.get(Number(id));
    if (start === undefined || thing === undefined || latest === undefined) return;
    const rest = thing.slice(start.length);
    const text = rest.startsWith(activity) ? rest.slice(activity.length) : rest;
    // Elsewhere in a pin it would be compared with nothing; in a text its quotes are escaped.
    if (activity !== '' && text.includes('"activity":')) return;
    this.#writtenOut.setText(latest, text);
  }

  /**
   * Passes over a member whose object, with the id `#id`, is written as the latest one with that id. `activity` stands
   * after the id, or not.
   */
  #passThing<K extends 'users' | 'boards' | 'pins'>(
    name: DataView,
    things: Things<K>,
    activity?: DataView,
  ): Latest<K> | undefined {
    this.#pass(name);
    if (this.#place === NOWHERE || !this.#passId()) return undefined;
    const latest = things.get(this.#id);
    if (latest === undefined || latest.textLength === 0) return undefined;
    if (activity !== undefined && this.#isHere(activity, 0, activity.byteLength)) {
      this.#place += activity.byteLength;
    }
    const { textAt, textLength } = latest;
    if (!this.#isHere(this.#writtenOut.texts, textAt, textLength)) return undefined;
    this.#place += textLength;
    return latest;
  }

  #pass(expected: DataView): void {
    if (this.#place === NOWHERE) return;
    this.#place = this.#isHere(expected, 0, expected.byteLength)
      ? this.#place + expected.byteLength
      : NOWHERE;
  }

  #passId(): boolean {
    const [from, end] = [this.#place, this.#to];
    let id = 0;
    let to = from;
    for (; to < end; to += 1) {
      const digit = this.#bytes[to] ?? 0;
      if (digit < ZERO || digit > NINE) break;
      id = id * 10 + (digit - ZERO);
    }
    this.#place = to;
    this.#id = id;
    const digits = to - from;
    // A number does not begin with 0, and what has no digit is no number.
    return digits > 0 && digits <= DIGITS && (digits === 1 || this.#bytes[from] !== ZERO);
  }

  /** Whether the line goes on with so many bytes of `expected`. */
  #isHere(expected: DataView, at: number, length: number): boolean {
    const place = this.#place;
    if (place + length > this.#to) return false;
    const view = this.#view;
    let done = 0;
    for (; done <= length - WORD_BYTES; done += WORD_BYTES) {
      if (expected.getBigInt64(at + done, true) !== view.getBigInt64(place + done, true)) return false;
    }
    for (; done < length; done += 1) {
      if (expected.getUint8(at + done) !== view.getUint8(place + done)) return false;
    }
    return true;
  }
}

function viewOf(text: string): DataView {
  return new DataView(new TextEncoder().encode(text).buffer);
}

/** A member of an event as the API writes it; absent where it is. */
function writtenByApi(member: unknown): string | undefined {
  const json: string | undefined = JSON.stringify(member, withoutBigint);
  return json === undefined ? undefined : escapeLineEnds(json);
}

/** No text holds it: an integer beyond 2^53 is left to the careful way. */
function withoutBigint(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? '' : value;
}
