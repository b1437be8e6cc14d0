/**
 * Makes a bundle of what a pull has got, for an import (decision 28): users and boards with all that both variants say
 * of them, events with ids by which they are known again, points as figures of the server.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AppError } from '../app-error.ts';
import type { Fetched } from './fetching.ts';
import { type Item, itemsOf, lineOf, recordsOf } from './items.ts';

export interface PulledBundle {
  /** Files with at least one record. */
  readonly paths: readonly string[];
  readonly hasEvents: boolean;
  /** Ids of people whom the server has forgotten (decision 19). */
  readonly forgotten: readonly string[];
}

const FORGOTTEN = /^\{"forgotten":\{"user":(-?\d+)\}\}$/;
const SYNC_ID = /,"sync_id":("(?:[^"\\]|\\.)*")\}$/;
// Quotes in texts are escaped, so that no text looks like this.
const ACTOR = /"actor":\{"id":(-?\d+)/;

/** Into a folder that is made anew. Throws `source-refused`. */
export async function writePulledBundle(
  folder: string,
  fetched: Fetched,
  pages: readonly string[],
): Promise<PulledBundle> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const paths: string[] = [];
  const write = async (name: string, lines: AsyncIterable<string>) => {
    const path = join(folder, name);
    if (await writeLines(path, lines)) paths.push(path);
  };
  const forgotten = await forgottenIn(pages);
  await write('users.ndjson', userLines(fetched, forgotten));
  await write('boards.ndjson', boardLines(fetched));
  for (const [at, page] of pages.entries()) {
    await write(`events-${at + 1}.ndjson`, eventLines(page, at, forgotten));
  }
  if (fetched.events !== undefined && (await isFilled(fetched.events))) paths.push(fetched.events);
  const hasEvents = paths.some((path) => /events[^/]*$/.test(path));
  await write('points.ndjson', pointsLines(fetched.points));
  return { paths, hasEvents, forgotten: [...forgotten.keys()] };
}

/** Whether there were any. */
async function writeLines(path: string, lines: AsyncIterable<string>): Promise<boolean> {
  const file = await open(path, 'w', 0o600);
  let isEmpty = true;
  let gathered = '';
  try {
    for await (const line of lines) {
      isEmpty = false;
      gathered += line;
      if (gathered.length < 64 * 1024) continue;
      await file.write(gathered);
      gathered = '';
    }
    await file.write(gathered);
  } finally {
    await file.close();
  }
  if (isEmpty) await rm(path);
  return !isEmpty;
}

async function isFilled(array: string): Promise<boolean> {
  return (await stat(array)).size > 100 || (await readFile(array, 'utf8')).replaceAll(/\s/g, '') !== '[]';
}

/** Variant A says a name in halves, B as a whole; without B the whole stands in the events of the person. */
async function* userLines(
  { users: { a, b }, events }: Fetched,
  forgotten: ReadonlyMap<string, number>,
): AsyncGenerator<string> {
  const whole = new Map<unknown, Item>();
  if (b !== undefined) for await (const user of itemsOf(b)) whole.set(user['id'], user);
  else if (events !== undefined) for await (const person of peopleIn(events)) whole.set(person['id'], person);
  for await (const user of itemsOf(a ?? b ?? '')) {
    const { id, email, first_name, last_name } = user;
    const { name, role } = whole.get(id) ?? {};
    // Whom the server has forgotten an import erases (decision 54).
    const gone = forgotten.has(String(id)) ? true : undefined;
    yield lineOf({ id, email, name, first_name, last_name, role, forgotten: gone });
  }
}

async function* peopleIn(events: string): AsyncGenerator<Item> {
  for await (const { owner, actor } of itemsOf(events)) {
    for (const person of [owner, actor]) {
      if (typeof person === 'object' && person !== null) yield Object.fromEntries(Object.entries(person));
    }
  }
}

async function* boardLines({ boards: { a, b } }: Fetched): AsyncGenerator<string> {
  for await (const { id, title, category } of itemsOf(b ?? a ?? '')) yield lineOf({ id, title, category });
}

async function* pointsLines(files: readonly string[]): AsyncGenerator<string> {
  for (const file of files) {
    for (const { user_id, board_id, total_points, participation_score } of await recordsOf(file)) {
      yield lineOf({ user_id, board_id, total_points, participation_score });
    }
  }
}

/** People who are forgotten, and in which page the latest news of it stands. */
async function forgottenIn(pages: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const forgotten = new Map<string, number>();
  for (const [at, page] of pages.entries()) {
    for await (const line of linesOf(page)) {
      const user = FORGOTTEN.exec(line)?.[1];
      if (user !== undefined) forgotten.set(user, at);
    }
  }
  return forgotten;
}

/** Events of a page under the ids of an import; what was got before its actor was forgotten is left out. */
async function* eventLines(
  page: string,
  at: number,
  forgotten: ReadonlyMap<string, number>,
): AsyncGenerator<string> {
  for await (const line of linesOf(page)) {
    if (line === '' || FORGOTTEN.test(line)) continue;
    const named = SYNC_ID.exec(line);
    const [, actor = ''] = ACTOR.exec(line) ?? [];
    if (named?.[1] === undefined || actor === '') throw noEvent();
    if ((forgotten.get(actor) ?? -1) > at) continue;
    yield `{"id":${idOf(JSON.parse(named[1]))},${line.slice(1, named.index)}}\n`;
  }
}

function linesOf(path: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
}

/** 63 bits of a digest: two events of a million have the same in one of twenty million such organizations. */
function idOf(syncId: string): bigint {
  return createHash('sha256').update(syncId).digest().readBigUInt64BE() >> 1n;
}

function noEvent(): AppError {
  return new AppError(
    'source-refused',
    'A page of events has something else than events with a "sync_id". Pull again with the version of Corkboard that the server has.',
  );
}
