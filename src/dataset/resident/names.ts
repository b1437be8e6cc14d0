/** The names by which an LMS identifies boards and users (decision 11). */
import { inSlices } from '../../system/time-slice.ts';
import type { Dataset } from '../dataset.ts';
import type { Boards } from '../records.ts';
import type { PropertyRows } from '../tables.ts';
import type { TextColumn } from '../text-column.ts';

/** Names between two checks of the clock. */
const NAMES_AT_ONCE = 1_024;

export interface BoardNames {
  readonly lti: Names;
  readonly course: Names;
}

export async function readBoardNames(boards: Boards): Promise<BoardNames> {
  return { lti: await Names.of(boards.lti_id), course: await Names.of(boards.course_id) };
}

/** One name per board. Boards without a name are left out, so an empty name finds nothing. */
class Names {
  readonly #indices = new Map<string, number>();

  /** `all` holds the names by index. */
  static async of(all: TextColumn): Promise<Names> {
    const names = new Names();
    const add = (from: number, to: number) => {
      for (let index = from; index < to; index++) {
        if (all.size(index) > 0) names.#indices.set(all.at(index), index);
      }
    };
    await inSlices(0, all.count, add, NAMES_AT_ONCE);
    return names;
  }

  get(name: string): number | undefined {
    return this.#indices.get(name);
  }
}

/** Index of a user by property, then by value. */
type UsersByName = ReadonlyMap<string, ReadonlyMap<string, number>>;

export class UserNames {
  /** The version to read them from; absent once they are read. */
  #stored: Dataset | undefined;
  #names: UsersByName = new Map();
  #reading: Promise<void> | undefined;

  private constructor(stored: Dataset) {
    this.#stored = stored;
  }

  /** The names in a version, read now. */
  static async of(stored: Dataset): Promise<UserNames> {
    const names = UserNames.later(stored);
    await names.all();
    return names;
  }

  /** Reads the names at the first lookup, until which `stored` must stay open. */
  static later(stored: Dataset): UserNames {
    return new UserNames(stored);
  }

  get areRead(): boolean {
    return this.#stored === undefined;
  }

  async find(property: string, value: string): Promise<number | undefined> {
    return (await this.all()).get(property)?.get(value);
  }

  async all(): Promise<UsersByName> {
    const stored = this.#stored;
    if (stored === undefined) return this.#names;
    this.#reading ??= this.#read(stored).finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    return this.#names;
  }

  async #read(stored: Dataset): Promise<void> {
    this.#names = await readNames(stored.tables().properties());
    this.#stored = undefined;
  }
}

async function readNames(runs: AsyncIterable<PropertyRows>): Promise<UsersByName> {
  const names = new Map<string, Map<string, number>>();
  for await (const rows of runs) addNames(names, rows);
  return names;
}

function addNames(names: Map<string, Map<string, number>>, { user, property, value }: PropertyRows): void {
  for (const [row, index] of user.entries()) {
    const values = names.get(property[row]!) ?? new Map<string, number>();
    names.set(property[row]!, values.set(value[row]!, index));
  }
}
