/**
 * Fast path for nested events in the form that the API writes: an object that is byte for byte
 * equal to its latest occurrence is recognized without parsing the JSON. All other events take the
 * general path, from which this one learns.
 */
import { readPlainInstant } from '../../domain/instant.ts';
import { escapeLineEnds } from '../../domain/json-text.ts';
import type { EventRecord } from '../../store/staging.ts';
import type { Written } from '../fields/form.ts';
import type { KnownRecords, Latest, Things } from './known-records.ts';

const OWNER = viewOf(',"owner":{"id":');
const ACTOR = viewOf(',"actor":{"id":');
const PIN = viewOf(',"pin":{"id":');
const BOARD = viewOf(',"board":{"id":');
const TIMESTAMP = viewOf(',"timestamp":"');
const END = viewOf('"}');
const OWNER_BYTES = Buffer.from(',"owner":');
const ZERO = 48;
const NINE = 57;
/** Maximum number of digits that is exact in a `number`. */
const DIGITS = 15;
const THING = /^\{"id":(\d{1,15})(?!\d)/;
const NOWHERE = -1;
const WORD_BYTES = 8;

/** The beginning of an event up to its owner, and the values it contains. */
interface Start {
  readonly type: string;
  readonly action: string;
  /** The member of the pin that repeats the action. */
  readonly activity: DataView;
}

/** Maximum number of beginnings, which are types times actions, that are remembered. */
const MOST_STARTS = 1000;

export class NestedEvents {
  readonly #file: number;
  readonly #writtenOut: KnownRecords;
  readonly #starts = new Map<string, Start>();
  #organization = viewOf('');
  /** The current block, and the end of the current line in it. */
  #bytes: Buffer = Buffer.alloc(0);
  #view = viewOf('');
  #to = 0;
  /** The current position; `NOWHERE` when the line differs from the latest event. */
  #place = 0;
  /** The id that was read last. */
  #id = 0;

  /** `writtenOut` must be the one that the general path fills with the same events. */
  constructor(file: number, writtenOut: KnownRecords) {
    this.#file = file;
    this.#writtenOut = writtenOut;
  }

  /** Whether any event in a recognizable form has been found. */
  get isOfUse(): boolean {
    return this.#starts.size > 0;
  }

  /** The event in this line if all objects in it are known and unchanged; undefined otherwise. */
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
    // A pin with a new board or owner is a change.
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

  /** Learns from an event that the general path has just read. */
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
    // The line is equal to the text that the API writes for these values, so each part is complete.
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
    // In any other position of a pin, the member would not be compared; within a text its quotes
    // are escaped.
    if (activity !== '' && text.includes('"activity":')) return;
    this.#writtenOut.setText(latest, text);
  }

  /**
   * Skips a member if its object is equal to the latest one with the same id, which becomes `#id`.
   * `activity` may follow the id. Undefined if the object is different or unknown.
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
    // A number has at least one digit and no leading zero.
    return digits > 0 && digits <= DIGITS && (digits === 1 || this.#bytes[from] !== ZERO);
  }

  /** Whether the line continues with `length` bytes of `expected` from `at` on. */
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

/** A member of an event as the API writes it; undefined if it is absent. */
function writtenByApi(member: unknown): string | undefined {
  const json: string | undefined = JSON.stringify(member, withoutBigint);
  return json === undefined ? undefined : escapeLineEnds(json);
}

/**
 * Replaces integers beyond 2^53 by a text that never matches, so that they take the general path.
 */
function withoutBigint(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? '' : value;
}
