/**
 * The quick way for nested events as the API writes them: what an event writes out byte for byte as the latest one
 * did is known again without reading the JSON. Any other event is left to the careful way, from which this one learns.
 */
import { readPlainInstant } from '../dataset/instant.ts';
import type { EventRecord } from '../dataset/staging.ts';
import type { Written } from './form.ts';
import type { Latest, Things, WrittenOut } from './written-out.ts';

/** The members of an event in the order in which the API writes them, without a pin and with one. */
const MEMBERS = ['type', 'action', 'owner', 'actor', 'organization', 'board', 'timestamp'].join();
const MEMBERS_OF_PIN = [
  'type',
  'action',
  'owner',
  'actor',
  'organization',
  'pin',
  'board',
  'timestamp',
].join();

const OWNER = Buffer.from(',"owner":');
const ACTOR = Buffer.from(',"actor":');
const ORGANIZATION = Buffer.from(',"organization":');
const PIN = Buffer.from(',"pin":');
const BOARD = Buffer.from(',"board":');
const TIMESTAMP = Buffer.from(',"timestamp":"');
const ID = Buffer.from('{"id":');
const END = Buffer.from('"}');
const NOTHING = Buffer.alloc(0);
const ZERO = 48;
const NINE = 57;
/** So many digits are exact in a `number`. */
const DIGITS = 15;
const NOWHERE = -1;
/** From so many bytes on, the call of native code costs less than it saves. */
const LONG_BYTES = 32;

/** The beginning of an event up to its owner, and what follows from it. */
interface Start {
  readonly type: string;
  readonly action: string;
  /** The member of the pin that repeats the action. */
  readonly activity: Buffer;
}

/** Different beginnings, which are types times actions, that are remembered. */
const MOST_STARTS = 1000;

export class NestedEvents {
  readonly #file: number;
  readonly #writtenOut: WrittenOut;
  readonly #starts = new Map<string, Start>();
  #organization = NOTHING;
  /** Where reading goes on; `NOWHERE` when something is not as the latest event wrote it. */
  #place = 0;

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
    this.#place = bytes.indexOf(OWNER, from);
    const start = this.#starts.get(bytes.toString('latin1', from, Math.max(from, this.#place)));
    if (start === undefined) return undefined;
    const { users, boards, pins } = this.#writtenOut;
    this.#pass(bytes, OWNER);
    const owner = this.#passThing(bytes, users, NOTHING);
    this.#pass(bytes, ACTOR);
    const actor = this.#passThing(bytes, users, NOTHING);
    this.#pass(bytes, ORGANIZATION);
    this.#pass(bytes, this.#organization);
    const isPin = start.type === 'pin';
    if (isPin) this.#pass(bytes, PIN);
    const pin = isPin ? this.#passThing(bytes, pins, start.activity) : undefined;
    this.#pass(bytes, BOARD);
    const board = this.#passThing(bytes, boards, NOTHING);
    this.#pass(bytes, TIMESTAMP);
    const timestamp = this.#place;
    this.#place = timestamp === NOWHERE ? NOWHERE : to - END.length;
    this.#pass(bytes, END);
    if (this.#place === NOWHERE || !owner || !actor || !board || (isPin && !pin)) return undefined;
    const timestampMs = readPlainInstant(bytes, timestamp, to - END.length);
    if (timestampMs === undefined) return undefined;
    const [ownerId, actorId, boardId] = [owner.record.id, actor.record.id, board.record.id];
    // A pin that moved, or changed hands, is news.
    if (pin && (pin.record.ownerId !== ownerId || pin.record.boardId !== boardId)) return undefined;
    const { type, action } = start;
    const event = { file: this.#file, line, id: undefined, type, action, ownerId, actorId, boardId };
    return { ...event, pinId: pin?.record.id, timestampMs };
  }

  /** Learns from an event that the careful way has just taken. */
  learn({ value: event, isCells }: Written, text: string): void {
    if (isCells) return;
    const members = Object.keys(event).join();
    if (members !== MEMBERS && members !== MEMBERS_OF_PIN) return;
    // What is written by the same rules means the same, and each part of it is whole.
    if (JSON.stringify(event, withoutBigint) !== text) return;
    const { type, action, owner, actor, organization, pin, board } = event;
    const { users, boards, pins } = this.#writtenOut;
    if (this.#starts.size >= MOST_STARTS) this.#starts.clear();
    const activity = Buffer.from(`,"activity":${JSON.stringify(action)}`);
    const start = Buffer.from(`{"type":${JSON.stringify(type)},"action":${JSON.stringify(action)}`);
    this.#starts.set(start.toString('latin1'), { type: String(type), action: String(action), activity });
    this.#organization = Buffer.from(JSON.stringify(organization));
    this.#learnThing(users, owner, NOTHING);
    this.#learnThing(users, actor, NOTHING);
    this.#learnThing(pins, pin, activity);
    this.#learnThing(boards, board, NOTHING);
  }

  #learnThing<K extends 'users' | 'boards' | 'pins'>(
    things: Things<K>,
    thing: unknown,
    activity: Buffer,
  ): void {
    const bytes = Buffer.from(JSON.stringify(thing) ?? '');
    this.#place = 0;
    const latest = things.get(this.#passId(bytes));
    if (latest === undefined || this.#place === NOWHERE) return;
    if (isAt(activity, bytes, this.#place)) this.#place += activity.length;
    this.#writtenOut.setText(latest, bytes.subarray(this.#place));
  }

  #pass(bytes: Buffer, expected: Buffer): void {
    if (this.#place === NOWHERE) return;
    this.#place = isAt(expected, bytes, this.#place) ? this.#place + expected.length : NOWHERE;
  }

  /** Passes over an object that is written as the latest one with its id. `activity` stands after the id, or not. */
  #passThing<K extends 'users' | 'boards' | 'pins'>(
    bytes: Buffer,
    things: Things<K>,
    activity: Buffer,
  ): Latest<K> | undefined {
    if (this.#place === NOWHERE) return undefined;
    const latest = things.get(this.#passId(bytes));
    if (this.#place === NOWHERE) return undefined;
    if (isAt(activity, bytes, this.#place)) this.#place += activity.length;
    if (latest?.text === undefined) this.#place = NOWHERE;
    else this.#pass(bytes, latest.text);
    return latest;
  }

  /** Passes over the id with which an object begins. */
  #passId(bytes: Buffer): number {
    this.#pass(bytes, ID);
    if (this.#place === NOWHERE) return 0;
    let id = 0;
    let to = this.#place;
    for (; to < bytes.length; to += 1) {
      const digit = bytes[to] ?? 0;
      if (digit < ZERO || digit > NINE) break;
      id = id * 10 + (digit - ZERO);
    }
    const digits = to - this.#place;
    // A number does not begin with 0, and what has no digit is no number.
    this.#place =
      digits === 0 || digits > DIGITS || (digits > 1 && bytes[this.#place] === ZERO) ? NOWHERE : to;
    return id;
  }
}

function isAt(expected: Buffer, bytes: Buffer, place: number): boolean {
  const end = place + expected.length;
  if (end > bytes.length) return false;
  if (expected.length >= LONG_BYTES) return expected.compare(bytes, place, end) === 0;
  for (let at = 0; at < expected.length; at += 1) if (bytes[place + at] !== expected[at]) return false;
  return true;
}

/** No text holds it: an integer beyond 2^53 is left to the careful way. */
function withoutBigint(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? '' : value;
}
