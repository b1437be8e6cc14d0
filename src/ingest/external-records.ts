/**
 * The users, boards and pins named by events of other software, as records. A value given by the
 * source replaces the known value. A derived value is used only where no description exists
 * (decision 52).
 */
import type { Dataset } from '../dataset/dataset.ts';
import type { BoardRecord, PinRecord, RecordOf, Staged, UserRecord } from '../store/staging.ts';
import { email, instant, longText, tags, text } from './fields/fields.ts';
import {
  type DescribedThing,
  type Detail,
  type ForeignBoard,
  type ForeignEvent,
  type ForeignPin,
  type NamedPerson,
  UNKNOWN_OWNER,
} from './formats/format.ts';

const THINGS = ['users', 'boards', 'pins'] as const;
type Thing = (typeof THINGS)[number];

type Ids = Record<Thing, Set<bigint>>;

/**
 * Knows the ids that are already described: in the current version, by this import, and by the
 * current record, whose ids count for later records only if the whole record is valid.
 */
export class ExternalRecords {
  readonly #published: Record<Thing, BigInt64Array> = {
    users: new BigInt64Array(),
    boards: new BigInt64Array(),
    pins: new BigInt64Array(),
  };
  readonly #described = noIds();
  readonly #ofRecord = noIds();

  /** Reads the ids of the current version. */
  async learn(dataset: Dataset): Promise<void> {
    const ids: Record<Thing, bigint[]> = { users: [], boards: [], pins: [] };
    for (const thing of THINGS) {
      for await (const run of dataset.tables().ids(thing)) for (const id of run) ids[thing].push(id);
      this.#published[thing] = BigInt64Array.from(ids[thing]).sort();
    }
  }

  isPublished(thing: Thing, id: bigint): boolean {
    return holds(this.#published[thing], id);
  }

  /** Begins a record of the source. Discards the ids of the previous one if it was invalid. */
  beginRecord(): void {
    for (const thing of THINGS) this.#ofRecord[thing].clear();
  }

  /** Call when the record is valid: its ids are described for later records, too. */
  keepRecord(): void {
    for (const thing of THINGS) {
      for (const id of this.#ofRecord[thing]) this.#described[thing].add(id);
    }
  }

  /**
   * The records of one event or description. Must be called in the order of the source: no value is
   * derived for an object that an earlier event or description has described. Throws `Refusal`.
   */
  *recordsOf(one: ForeignEvent | DescribedThing, at: Staged): Generator<ThingRecord> {
    if ('describes' in one) {
      if (one.describes === 'users') yield* this.#userOf(one.person, at);
      else if (one.describes === 'boards') yield* this.#boardOf(one.board, at);
      else yield { kind: 'memberships', record: { ...at, boardId: one.boardId, userId: one.userId } };
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
    this.#describe('pins', pin.id);
    const isGiven = [pinTitle, pin.body, pin.tags, event.owner].some((one) => one !== undefined);
    if (!isNew && !isGiven) return;
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

  *#userOf(person: NamedPerson, at: Staged): Generator<ThingRecord> {
    const { firstName, lastName, role, classRole, createdAt, lms } = person;
    const address = this.#detailOf('users', person.id, person.email);
    const name = this.#detailOf('users', person.id, person.name);
    this.#describe('users', person.id);
    if ([address, name, role, classRole, createdAt, lms].every((given) => given === undefined)) return;
    yield {
      kind: 'users',
      record: {
        ...{ ...at, id: person.id },
        email: email.read(address, 'e-mail address', false),
        name: text.read(name, 'name of the person', false),
        firstName: text.read(firstName, 'first name of the person', false),
        lastName: text.read(lastName, 'last name of the person', false),
        role: text.read(role, 'role of the person', false),
        classRole: text.read(classRole, 'class role of the person', false),
        ...(lms !== undefined && { lms: readProperties(lms) }),
        ...(createdAt !== undefined && { createdMs: instant.read(createdAt, 'date of the person', false) }),
      },
    };
  }

  *#boardOf({ id, title, category, courseId }: ForeignBoard, at: Staged): Generator<ThingRecord> {
    const boardTitle = this.#detailOf('boards', id, title);
    this.#describe('boards', id);
    if ([boardTitle, category, courseId].every((given) => given === undefined)) return;
    yield {
      kind: 'boards',
      record: {
        ...{ ...at, id },
        title: text.read(boardTitle, 'title of the board', false),
        category: text.read(category, 'category of the board', false),
        courseId: text.read(courseId, 'course id of the board', false),
      },
    };
  }

  #detailOf(thing: Thing, id: bigint, { text, isGiven }: Detail): string | undefined {
    return isGiven || !this.#isKnown(thing, id) ? text : undefined;
  }

  #describe(thing: Thing, id: bigint): void {
    if (!this.#isKnown(thing, id)) this.#ofRecord[thing].add(id);
  }

  #isKnown(thing: Thing, id: bigint): boolean {
    return this.#described[thing].has(id) || this.#ofRecord[thing].has(id) || this.isPublished(thing, id);
  }
}

export type ThingRecord =
  | { readonly kind: 'users'; readonly record: UserRecord }
  | { readonly kind: 'boards'; readonly record: BoardRecord }
  | { readonly kind: 'pins'; readonly record: PinRecord }
  | { readonly kind: 'memberships'; readonly record: RecordOf['memberships'] };

function readProperties(lms: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const read = Object.entries(lms).map(([name, value]) => [
    name,
    text.read(value, `LMS property ${name}`, false),
  ]);
  return Object.fromEntries(read);
}

function noIds(): Ids {
  return { users: new Set(), boards: new Set(), pins: new Set() };
}

function holds(ascending: BigInt64Array, id: bigint): boolean {
  let [from, to] = [0, ascending.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (ascending[middle]! < id) from = middle + 1;
    else to = middle;
  }
  return ascending[from] === id;
}
