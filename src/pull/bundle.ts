/**
 * Makes a bundle for an import (decision 28) from the data of a pull: users and boards with the
 * fields of both variants, events with ids that identify them in later imports, and the points
 * totals of the server. Also writes files that contain only the ids.
 */
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Fetched } from './fetching.ts';
import {
  type Item,
  KeptDamage,
  keepLines,
  keptItems,
  keptLines,
  type LineRoom,
  lineOf,
} from './kept-lines.ts';
import type { PullLimits } from './limits.ts';
import { allUsers, type FindPerson, usersInStep } from './pulled-users.ts';
import { refused } from './refusal.ts';

export interface PulledBundle {
  /** Files with at least one record. */
  readonly paths: readonly string[];
  readonly hasEvents: boolean;
  /** Ids of users that the server reports as forgotten (decision 19). */
  readonly forgotten: ReadonlySet<string>;
  /** A folder of files with one id per line. */
  readonly ids: string;
}

/** Names of the files of ids: the kinds of the ids. */
export const ID_FILES = ['users', 'boards', 'points'] as const;

/** Deletes the folder and creates it again. Throws `source-refused` and `KeptDamage`. */
export async function writePulledBundle(
  folder: string,
  fetched: Fetched,
  limits: PullLimits,
  room: LineRoom,
): Promise<PulledBundle> {
  await rm(folder, { recursive: true, force: true });
  const ids = join(folder, 'ids');
  await mkdir(ids, { recursive: true, mode: 0o700 });
  const paths: string[] = [];
  const write = async (name: string, lines: AsyncIterable<string>) => {
    const path = join(folder, `${name}.ndjson`);
    if ((await keepLines(path, lines, room)) > 0) paths.push(path);
  };
  const forgotten = await forgottenIn(fetched.pages, limits.forgotten);
  await write('users', userLines(fetched, forgotten, limits));
  await write('boards', boardLines(fetched));
  await write('events', eventLines(fetched.pages, forgotten));
  if (fetched.events !== undefined && (await stat(fetched.events)).size > 0) paths.push(fetched.events);
  const hasEvents = paths.some((path) => /events[^/]*$/.test(path));
  await write('points', pointsLines(fetched.points));
  for (const kind of ID_FILES)
    await keepLines(join(ids, kind), idLines(join(folder, `${kind}.ndjson`)), room);
  return { paths, hasEvents, forgotten: new Set(forgotten.keys()), ids };
}

/**
 * Variant A has first and last names, variant B whole names. Without variant B, whole names come
 * from events.
 */
async function* userLines(
  { users: { a, b }, events }: Fetched,
  forgotten: ReadonlyMap<string, number>,
  limits: PullLimits,
): AsyncGenerator<string> {
  const [own, find] = await personFinder(a, b, events, limits);
  for await (const user of keptItems(own)) {
    const { id, email, first_name, last_name } = user;
    const { name, role } = (await find(user)) ?? {};
    // An import erases the users that the server has forgotten (decision 54).
    const gone = forgotten.has(String(id)) ? true : undefined;
    yield lineOf({ id, email, name, first_name, last_name, role, forgotten: gone });
  }
}

/** The list of users, and a function that finds the whole name and the role of each. */
async function personFinder(
  a: string | undefined,
  b: string | undefined,
  events: string | undefined,
  { peopleBytes }: PullLimits,
): Promise<[list: string, find: FindPerson]> {
  if (a === undefined) {
    if (b === undefined) throw new KeptDamage('there is no list of users');
    return [b, async ({ name, role }) => ({ name, role })];
  }
  if (b !== undefined) return [a, usersInStep(keptItems(b), peopleBytes)];
  return [a, events === undefined ? async () => undefined : await allUsers(peopleIn(events), peopleBytes)];
}

async function* peopleIn(events: string): AsyncGenerator<Item> {
  for await (const { owner, actor } of keptItems(events)) {
    for (const person of [owner, actor]) {
      if (typeof person === 'object' && person !== null) yield Object.fromEntries(Object.entries(person));
    }
  }
}

async function* boardLines({ boards: { a, b } }: Fetched): AsyncGenerator<string> {
  for await (const { id, title, category } of keptItems(b ?? a ?? '')) yield lineOf({ id, title, category });
}

async function* pointsLines(files: readonly string[]): AsyncGenerator<string> {
  for (const file of files)
    for await (const lines of keptLines(file)) yield lines.map((line) => `${line}\n`).join('');
}

/**
 * Forgotten users, each with the index of the last page that reports it. Throws `source-refused`
 * when there are more than `most`.
 */
async function forgottenIn(pages: readonly string[], most: number): Promise<ReadonlyMap<string, number>> {
  const forgotten = new Map<string, number>();
  for (const [at, page] of pages.entries()) {
    for await (const { user, event } of pageLines(page)) {
      if (event === '') forgotten.set(user, at);
      if (forgotten.size > most)
        throw refused(`it has erased more than ${most.toLocaleString('en')} users`, false);
    }
  }
  return forgotten;
}

/**
 * Events of all pages. Events on pages before the one that reports their actor as forgotten are
 * skipped.
 */
async function* eventLines(
  pages: readonly string[],
  forgotten: ReadonlyMap<string, number>,
): AsyncGenerator<string> {
  for (const [at, page] of pages.entries()) {
    for await (const { user, event } of pageLines(page)) {
      if (event !== '' && (forgotten.get(user) ?? -1) <= at) yield `${event}\n`;
    }
  }
}

/** Lines as written by `readPage`. */
async function* pageLines(page: string): AsyncGenerator<{ readonly user: string; readonly event: string }> {
  for await (const lines of keptLines(page)) {
    for (const line of lines) {
      const tab = line.indexOf('\t');
      const event = line.slice(tab + 1);
      if (tab <= 0 || (event !== '' && !event.endsWith('}')))
        throw new KeptDamage('a line of a page is damaged');
      yield { user: line.slice(0, tab), event };
    }
  }
}

/** The ids of users and boards; for points, the ids of user and board with a space between them. */
async function* idLines(path: string): AsyncGenerator<string> {
  for await (const { id, user_id, board_id } of keptItems(path)) {
    yield id === undefined ? `${String(user_id)} ${String(board_id)}\n` : `${String(id)}\n`;
  }
}
