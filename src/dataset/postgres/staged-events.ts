/**
 * Events as rows of their staging table: what an event names, and its kind, as small numbers, each told once in a table
 * of its own.
 */
import type { EventColumns, EventRecord } from '../staging.ts';
import type { BinaryWriter } from './binary-writer.ts';
import type { EventSurvey } from './event-survey.ts';
import { Halves, halvesOf, Names } from './names.ts';

/** `kind` is a place in `staged_kinds`; owner, actor, board and pin are places in `staged_names`. */
export const STAGED_EVENTS = `
  CREATE TEMP TABLE staged_events (
    n BIGINT, line BIGINT, id BIGINT, timestamp_ms BIGINT, file INTEGER, kind INTEGER, "owner" INTEGER, actor INTEGER,
    board INTEGER, pin INTEGER, raw TEXT
  );
  CREATE TEMP TABLE staged_kinds (kind BIGINT, type TEXT, action TEXT);
  CREATE TEMP TABLE staged_names (thing TEXT, number BIGINT, id BIGINT);`;

const FIELDS = 11;

const THINGS = ['users', 'boards', 'pins'] as const;
type Thing = (typeof THINGS)[number];

export class StagedEvents {
  readonly #survey: EventSurvey;
  readonly #names: { readonly [K in Thing]: Names } = {
    users: new Names(),
    boards: new Names(),
    pins: new Names(),
  };
  /** Of each, how many have been written. */
  readonly #written = { users: 0, boards: 0, pins: 0 };
  /** Numbers of kinds by type and action. */
  readonly #kinds = new Map<string, number>();
  #writtenKinds = 0;

  constructor(survey: EventSurvey) {
    this.#survey = survey;
  }

  /** Writes a record as the row with number `n`. */
  write(writer: BinaryWriter, n: number, event: EventRecord): void {
    const { users, boards, pins } = this.#names;
    const numberOf = (names: Names, id: bigint) => {
      const { high, low } = halvesOf(id);
      return names.number(high, low);
    };
    writer.row(FIELDS);
    writer.int8(n);
    writer.int8(event.line);
    if (event.id === undefined) this.#writeNoId(writer);
    else {
      const { high, low } = halvesOf(event.id);
      this.#writeId(writer, high, low);
    }
    this.#writeTime(writer, event.timestampMs);
    writer.int4(event.file);
    writer.int4(this.#kindOf(event.type, event.action));
    writer.int4(numberOf(users, event.ownerId));
    writer.int4(numberOf(users, event.actorId));
    writer.int4(numberOf(boards, event.boardId));
    if (event.pinId === undefined) writer.none();
    else writer.int4(numberOf(pins, event.pinId));
    if (event.raw === undefined) writer.none();
    else writer.text(event.raw);
  }

  /** A function that writes an event of the columns, by its place, as the row with number `n`. */
  writerOf(events: EventColumns): (writer: BinaryWriter, n: number, at: number) => void {
    const { words, types, actions } = events;
    const { users, boards, pins } = this.#names;
    const ids = new Halves(events.ids);
    const owners = new Halves(events.ownerIds);
    const actors = new Halves(events.actorIds);
    const boardIds = new Halves(events.boardIds);
    const pinIds = new Halves(events.pinIds);
    const times = new Halves(events.timestampsMs);
    const kinds = new Int32Array(words.length * words.length).fill(-1);
    return (writer, n, at) => {
      const pair = types[at]! * words.length + actions[at]!;
      if (kinds[pair] === -1) kinds[pair] = this.#kindOf(words[types[at]!]!, words[actions[at]!]!);
      writer.row(FIELDS);
      writer.int8(n);
      writer.int8(events.lines[at]!);
      if (events.hasIds[at] === 1) this.#writeId(writer, ids.high(at), ids.low(at));
      else this.#writeNoId(writer);
      this.#writeTime(writer, times.high(at) * 2 ** 32 + (times.low(at) >>> 0));
      writer.int4(events.file);
      writer.int4(kinds[pair]!);
      writer.int4(users.number(owners.high(at), owners.low(at)));
      writer.int4(users.number(actors.high(at), actors.low(at)));
      writer.int4(boards.number(boardIds.high(at), boardIds.low(at)));
      if (events.hasPins[at] === 1) writer.int4(pins.number(pinIds.high(at), pinIds.low(at)));
      else writer.none();
      writer.none();
    };
  }

  /** Writes the kinds and names that are new since the last time. */
  writeNews(writerOf: (table: 'kinds' | 'names') => BinaryWriter): void {
    for (const name of [...this.#kinds.keys()].slice(this.#writtenKinds)) {
      const [type, action] = JSON.parse(name);
      const writer = writerOf('kinds');
      writer.row(3);
      writer.int8(this.#writtenKinds);
      writer.text(type);
      writer.text(action);
      this.#writtenKinds += 1;
    }
    for (const thing of THINGS) {
      const names = this.#names[thing];
      for (let number = this.#written[thing]; number < names.count; number++) {
        const writer = writerOf('names');
        writer.row(3);
        writer.text(thing);
        writer.int8(number);
        writer.int8(names.id(number));
      }
      this.#written[thing] = names.count;
    }
  }

  #writeId(writer: BinaryWriter, high: number, low: number): void {
    this.#survey.addId(high, low);
    writer.halves(high, low);
  }

  #writeNoId(writer: BinaryWriter): void {
    this.#survey.addAnonymous();
    writer.none();
  }

  #writeTime(writer: BinaryWriter, timestampMs: number): void {
    this.#survey.addTime(timestampMs);
    writer.int8(timestampMs);
  }

  #kindOf(type: string, action: string): number {
    const name = JSON.stringify([type, action]);
    const known = this.#kinds.get(name);
    if (known !== undefined) return known;
    this.#kinds.set(name, this.#kinds.size);
    return this.#kinds.size - 1;
  }
}
