/** The names by which an LMS identifies boards and users (decision 11). */
import { inSlices } from '../../system/time-slice.ts';
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
export type UserNames = ReadonlyMap<string, ReadonlyMap<string, number>>;

export async function readUserNames(runs: AsyncIterable<PropertyRows>): Promise<UserNames> {
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
