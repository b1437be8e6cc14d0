/**
 * The people, boards and pins that events of other software name, as records: what the source gives replaces what was
 * known, what was derived only describes what nobody has described (decision 52).
 */
import type { Dataset } from '../dataset/dataset.ts';
import type { BoardRecord, PinRecord, Staged, UserRecord } from '../dataset/staging.ts';
import { email, longText, text } from './fields.ts';
import { type Detail, type ForeignEvent, type Person, UNKNOWN_OWNER } from './formats/format.ts';

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
  *recordsOf(event: ForeignEvent, at: Staged): Generator<ThingRecord> {
    const { actor, board, pin, owner = UNKNOWN_OWNER } = event;
    for (const person of [owner, actor]) {
      const user = this.#userOf(person, at);
      if (user !== undefined) yield { kind: 'users', record: user };
    }
    const title = this.#detailOf('boards', board.id, board.title);
    if (title !== undefined) {
      yield {
        kind: 'boards',
        record: { ...at, id: board.id, title: text.read(title, 'title of the board', false) },
      };
    }
    if (pin === undefined) return;
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
      },
    };
  }

  /** Notes that what the event names is described now. */
  keep({ owner = UNKNOWN_OWNER, actor, board, pin }: ForeignEvent): void {
    for (const { id } of [owner, actor]) this.#described.users.add(id);
    this.#described.boards.add(board.id);
    if (pin !== undefined) this.#described.pins.add(pin.id);
  }

  #userOf(person: Person, at: Staged): UserRecord | undefined {
    const address = this.#detailOf('users', person.id, person.email);
    const name = this.#detailOf('users', person.id, person.name);
    if (address === undefined && name === undefined) return undefined;
    return {
      ...{ ...at, id: person.id },
      email: email.read(address, 'e-mail address', false),
      name: text.read(name, 'name of the person', false),
    };
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
