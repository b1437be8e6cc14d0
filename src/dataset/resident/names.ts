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
  readonly #read: () => Promise<UsersByName>;
  #names: Promise<UsersByName> | undefined;

  private constructor(stored: Dataset) {
    this.#read = () => readNames(stored.tables().properties());
  }

  /** The names in a version, read now. */
  static async of(stored: Dataset): Promise<UserNames> {
    const names = UserNames.later(stored);
    await names.all();
    return names;
  }

  /** The same, read when the first one is looked up. `stored` must stay open. */
  static later(stored: Dataset): UserNames {
    return new UserNames(stored);
  }

  get areRead(): boolean {
    return this.#names !== undefined;
  }

  async find(property: string, value: string): Promise<number | undefined> {
    return (await this.all()).get(property)?.get(value);
  }

  async all(): Promise<UsersByName> {
    this.#names ??= this.#read().catch((error: unknown) => {
      this.#names = undefined;
      throw error;
    });
    return await this.#names;
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
