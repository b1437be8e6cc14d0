/** The names by which an LMS knows boards and users (decision 11). */
import type { BoardRows, PropertyRows } from '../tables.ts';

export interface BoardNames {
  readonly lti: ReadonlyMap<string, number>;
  readonly course: ReadonlyMap<string, number>;
}

/** Boards without a name are found by none, not by the empty one. */
export function readBoardNames(parts: readonly BoardRows[]): BoardNames {
  return {
    lti: mapNames(parts.flatMap((part) => part.ltiId)),
    course: mapNames(parts.flatMap((part) => part.courseId)),
  };
}

function mapNames(names: readonly string[]): ReadonlyMap<string, number> {
  const map = new Map<string, number>();
  for (const [index, name] of names.entries()) if (name !== '') map.set(name, index);
  return map;
}

/** By property, then by value. */
export type UserNames = ReadonlyMap<string, ReadonlyMap<string, number>>;

export async function readUserNames(runs: AsyncIterable<PropertyRows>): Promise<UserNames> {
  const names = new Map<string, Map<string, number>>();
  for await (const { user, property, value } of runs) {
    for (const [row, index] of user.entries()) {
      const values = names.get(property[row]!) ?? new Map<string, number>();
      names.set(property[row]!, values.set(value[row]!, index));
    }
  }
  return names;
}
