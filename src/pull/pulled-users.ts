/** Finds whole names and roles of users in a second list or in events, in bounded memory. */
import type { Item } from './kept-lines.ts';
import { refused } from './refusal.ts';

interface Person {
  readonly name: unknown;
  readonly role: unknown;
}

/** Finds a user by `id`. Each user can be found only once. */
export type FindPerson = (user: Item) => Promise<Person | undefined>;

/** Approximate memory of a map entry besides its texts. */
const ENTRY_BYTES = 200;

/**
 * Finds the users of one list in a second list. Both lists of a server usually have the same order;
 * if users are requested in that order, little is in memory. Throws `source-refused` when it would
 * be more than `mostBytes`.
 */
export function usersInStep(list: AsyncGenerator<Item>, mostBytes: number): FindPerson {
  const passed = new People(mostBytes);
  return async ({ id }) => {
    const known = passed.take(String(id));
    if (known !== undefined) return known;
    for (;;) {
      const { done, value } = await list.next();
      if (done === true) return undefined;
      if (value['id'] === id) return personOf(value);
      passed.put(value);
    }
  };
}

/**
 * Finds the last entry of each user. Throws `source-refused` when the entries would take more than
 * `mostBytes`.
 */
export async function allUsers(items: AsyncIterable<Item>, mostBytes: number): Promise<FindPerson> {
  const people = new People(mostBytes);
  for await (const item of items) people.put(item);
  return async ({ id }) => people.take(String(id));
}

class People {
  readonly #byId = new Map<string, Person>();
  #leftBytes: number;

  constructor(mostBytes: number) {
    this.#leftBytes = mostBytes;
  }

  put(item: Item): void {
    const id = String(item['id']);
    this.take(id);
    const person = personOf(item);
    this.#leftBytes -= bytesOf(person);
    if (this.#leftBytes < 0) throw refused('it has more users than fit in memory', false);
    this.#byId.set(id, person);
  }

  take(id: string): Person | undefined {
    const person = this.#byId.get(id);
    if (person === undefined) return undefined;
    this.#byId.delete(id);
    this.#leftBytes += bytesOf(person);
    return person;
  }
}

function personOf({ name, role }: Item): Person {
  return { name, role };
}

function bytesOf({ name, role }: Person): number {
  return ENTRY_BYTES + 2 * (lengthOf(name) + lengthOf(role));
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? text.length : 0;
}
