/** The names by which an LMS knows boards and users (decision 11). */
import type { BoardRows, Indexed, PropertyRows } from '../tables.ts';

export interface BoardNames {
  readonly lti: Names;
  readonly course: Names;
}

export function readBoardNames(parts: readonly BoardRows[]): BoardNames {
  return {
    lti: new Names(parts.flatMap((part) => part.ltiId)),
    course: new Names(parts.flatMap((part) => part.courseId)),
  };
}

/** The names after boards came, or were called otherwise. */
export function changeBoardNames(names: BoardNames, boards: Indexed<BoardRows>): BoardNames {
  return {
    lti: names.lti.with(boards.index, boards.ltiId),
    course: names.course.with(boards.index, boards.courseId),
  };
}

/** One name a board; a board without one is found by none, not by the empty one. */
class Names {
  readonly #names: readonly string[];
  readonly #indices = new Map<string, number>();

  /** By index. */
  constructor(names: readonly string[]) {
    this.#names = names;
    for (const [index, name] of names.entries()) if (name !== '') this.#indices.set(name, index);
  }

  get(name: string): number | undefined {
    return this.#indices.get(name);
  }

  with(indices: Int32Array, names: readonly string[]): Names {
    if (indices.every((index, row) => this.#names[index] === names[row])) return this;
    const all = this.#names.slice();
    for (const [row, index] of indices.entries()) all[index] = names[row]!;
    return new Names(all);
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
export function moreUserNames(names: UserNames, rows: PropertyRows): UserNames {
  if (rows.user.length === 0) return names;
  const more = new Map(Array.from(names, ([property, values]) => [property, new Map(values)]));
  addNames(more, rows);
  return more;
}

function addNames(names: Map<string, Map<string, number>>, { user, property, value }: PropertyRows): void {
  for (const [row, index] of user.entries()) {
    const values = names.get(property[row]!) ?? new Map<string, number>();
    names.set(property[row]!, values.set(value[row]!, index));
  }
}
