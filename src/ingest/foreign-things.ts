/**
 * The people, boards and pins that events of other software name, as records: what the source gives replaces what was
 * known, what was derived only describes what nobody has described (decision 52).
 */
import type { Dataset } from '../dataset/dataset.ts';
import type { BoardRecord, PinRecord, Staged, UserRecord } from '../dataset/staging.ts';
import { email, instant, longText, tags, text } from './fields.ts';
import {
  type Described,
  type Detail,
  type ForeignBoard,
  type ForeignEvent,
  type ForeignPin,
  type Person,
  UNKNOWN_OWNER,
} from './formats/format.ts';

const THINGS = ['users', 'boards', 'pins'] as const;
type Thing = (typeof THINGS)[number];

/** The ids of what is described already: by what is published, and by this import. */
export class ForeignThings {
  readonly #published: Record<Thing, BigInt64Array> = {
    users: new BigInt64Array(),
    boards: new BigInt64Array(),
    pins: new BigInt64Array(),
  };
  readonly #described: Record<Thing, Set<bigint>> = {
    users: new Set(),
    boards: new Set(),
    pins: new Set(),
  };

  /** Learns what is published. */
  async learn(dataset: Dataset): Promise<void> {
    const ids: Record<Thing, bigint[]> = { users: [], boards: [], pins: [] };
    const tables = dataset.tables();
    for await (const { id } of tables.users()) for (const one of id) ids.users.push(one);
    for await (const { id } of tables.boards()) for (const one of id) ids.boards.push(one);
    for await (const rows of dataset.pins()) for (const { id } of rows) ids.pins.push(id);
    for (const thing of THINGS) this.#published[thing] = BigInt64Array.from(ids[thing]).sort();
  }

  /** The records that an event brings; to be followed by `keep` when all of them hold. Throws `Refusal`. */
  *recordsOf(one: ForeignEvent | Described, at: Staged): Generator<ThingRecord> {
    if ('describes' in one) {
      if (one.describes === 'users') yield* this.#userOf(one.person, at);
      else yield* this.#boardOf(one.board, at);
      return;
    }
    const { actor, board, pin, owner = UNKNOWN_OWNER } = one;
    for (const person of [owner, actor]) yield* this.#userOf(person, at);
    yield* this.#boardOf(board, at);
    if (pin !== undefined) yield* this.#pinOf(pin, one, at);
  }

  *#pinOf(pin: ForeignPin, event: ForeignEvent, at: Staged): Generator<ThingRecord> {
    const { board, owner = UNKNOWN_OWNER } = event;
    const isNew = !this.#isKnown('pins', pin.id);
    const pinTitle = this.#detailOf('pins', pin.id, pin.title);
    if (!isNew && pinTitle === undefined && event.owner === undefined) return;
    yield {
      kind: 'pins',
      record: {
        ...{ ...at, id: pin.id, boardId: board.id },
        ownerId: isNew || event.owner !== undefined ? owner.id : undefined,
        title: text.read(pinTitle, 'title of the pin', false),
        body: longText.read(pin.body, 'body of the pin', false),
        webUrl: text.read(pin.webUrl, 'URL of the pin', false),
        ...(pin.tags !== undefined && { tags: tags.read(pin.tags, 'tags of the pin', false) }),
      },
    };
  }

  /** Notes that what the event names is described now. */
  keep({ owner = UNKNOWN_OWNER, actor, board, pin }: ForeignEvent): void {
    for (const { id } of [owner, actor]) this.#described.users.add(id);
    this.#described.boards.add(board.id);
    if (pin !== undefined) this.#described.pins.add(pin.id);
  }

  /** The same for what is described without an event. */
  keepDescribed(one: Described): void {
    if (one.describes === 'users') this.#described.users.add(one.person.id);
    else this.#described.boards.add(one.board.id);
  }

  *#userOf(person: Person, at: Staged): Generator<ThingRecord> {
    const { createdAt } = person;
    const address = this.#detailOf('users', person.id, person.email);
    const name = this.#detailOf('users', person.id, person.name);
    if (address === undefined && name === undefined && createdAt === undefined) return;
    yield {
      kind: 'users',
      record: {
        ...{ ...at, id: person.id },
        email: email.read(address, 'e-mail address', false),
        name: text.read(name, 'name of the person', false),
        ...(createdAt !== undefined && { createdMs: instant.read(createdAt, 'date of the person', false) }),
      },
    };
  }

  *#boardOf({ id, title }: ForeignBoard, at: Staged): Generator<ThingRecord> {
    const read = this.#detailOf('boards', id, title);
    if (read === undefined) return;
    yield { kind: 'boards', record: { ...at, id, title: text.read(read, 'title of the board', false) } };
  }

  #detailOf(thing: Thing, id: bigint, { text, isGiven }: Detail): string | undefined {
    return isGiven || !this.#isKnown(thing, id) ? text : undefined;
  }

  #isKnown(thing: Thing, id: bigint): boolean {
    return this.#described[thing].has(id) || holds(this.#published[thing], id);
  }
}

export type ThingRecord =
  | { readonly kind: 'users'; readonly record: UserRecord }
  | { readonly kind: 'boards'; readonly record: BoardRecord }
  | { readonly kind: 'pins'; readonly record: PinRecord };

function holds(ascending: BigInt64Array, id: bigint): boolean {
  let [from, to] = [0, ascending.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (ascending[middle]! < id) from = middle + 1;
    else to = middle;
  }
  return ascending[from] === id;
}
