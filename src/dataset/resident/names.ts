/** The names by which an LMS knows boards and users (decision 11). */
import { inSlices, slice } from '../../time-slice.ts';
import type { BoardRows, Indexed, PropertyRows } from '../tables.ts';

/** Names between two looks at the clock. */
const NAMES_AT_ONCE = 1_024;

export interface BoardNames {
  readonly lti: Names;
  readonly course: Names;
}

export async function readBoardNames(parts: readonly BoardRows[]): Promise<BoardNames> {
  return {
    lti: await Names.of(parts.flatMap((part) => part.ltiId)),
    course: await Names.of(parts.flatMap((part) => part.courseId)),
  };
}

/** The names after boards came, or were called otherwise. */
export async function changeBoardNames(names: BoardNames, boards: Indexed<BoardRows>): Promise<BoardNames> {
  return {
    lti: await names.lti.with(boards.index, boards.ltiId),
    course: await names.course.with(boards.index, boards.courseId),
  };
}

/** One name a board; a board without one is found by none, not by the empty one. */
class Names {
  readonly #names: readonly string[];
  readonly #indices = new Map<string, number>();

  private constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** By index. */
  static async of(all: readonly string[]): Promise<Names> {
    const names = new Names(all);
    const add = (from: number, to: number) => {
      for (let index = from; index < to; index++) {
        const name = all[index]!;
        if (name !== '') names.#indices.set(name, index);
      }
    };
    await inSlices(0, all.length, add, NAMES_AT_ONCE);
    return names;
  }

  get(name: string): number | undefined {
    return this.#indices.get(name);
  }

  async with(indices: Int32Array, names: readonly string[]): Promise<Names> {
    if (indices.every((index, row) => this.#names[index] === names[row])) return this;
    const all = this.#names.slice();
    for (const [row, index] of indices.entries()) all[index] = names[row]!;
    return await Names.of(all);
  }
}

/** By property, then by value. */
export type UserNames = ReadonlyMap<string, ReadonlyMap<string, number>>;

export async function readUserNames(runs: AsyncIterable<PropertyRows>): Promise<UserNames> {
  const names = new Map<string, Map<string, number>>();
  for await (const rows of runs) addNames(names, rows);
  return names;
}

/** The names after others came. */
export async function moreUserNames(names: UserNames, rows: PropertyRows): Promise<UserNames> {
  if (rows.user.length === 0) return names;
  const more = new Map<string, Map<string, number>>();
  for (const [property, values] of names) more.set(property, await copyOf(values));
  addNames(more, rows);
  return more;
}

/** In slices of time: a million names take a tenth of a second. */
async function copyOf(names: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  const copy = new Map<string, number>();
  for (const [name, index] of names) {
    copy.set(name, index);
    if (copy.size % NAMES_AT_ONCE === 0 && slice.isOver()) await slice.pass();
  }
  return copy;
}

function addNames(names: Map<string, Map<string, number>>, { user, property, value }: PropertyRows): void {
  for (const [row, index] of user.entries()) {
    const values = names.get(property[row]!) ?? new Map<string, number>();
    names.set(property[row]!, values.set(value[row]!, index));
  }
}
