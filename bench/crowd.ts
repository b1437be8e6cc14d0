/**
 * A community with extremes, as a bundle of files: a board with all users, a board where hundreds
 * of thousands of pairs interact, a user with a long ledger, and a user on every board.
 */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type Community,
  FIRST_BOARD,
  FIRST_USER,
  ownerOf,
  pinOf,
  timeSpan,
  writeCommunity,
} from './community.ts';
import { makeRandom } from './random.ts';

export const BOARD_OF_ALL = FIRST_BOARD;
export const BOARD_OF_LEDGER = FIRST_BOARD + 1;
export const BOARD_OF_PAIRS = FIRST_BOARD + 2;
export const USER_OF_LEDGER = FIRST_USER;
export const USER_OF_ALL = FIRST_USER + 1;

/** Additional events, as shares of the events of the community. */
const LEDGER_SHARE = 1 / 10;
const PAIRS_SHARE = 3 / 10;

export function crowdOf(events: number): Community {
  return { events, boards: Math.ceil(events / 50), users: Math.ceil(events / 5) };
}

/** Ids of the boards, and of the users, ascending. */
export function boardsOfCrowd({ boards }: Community): number[] {
  return Array.from({ length: boards }, (_, board) => FIRST_BOARD + board);
}

export function usersOfCrowd({ users }: Community): number[] {
  return Array.from({ length: users }, (_, user) => FIRST_USER + user);
}

/** Writes the bundle into an existing folder. */
export async function writeCrowd(folder: string, crowd: Community): Promise<void> {
  await writeCommunity(folder, crowd);
  await write(join(folder, 'memberships.csv'), membershipLines(crowd));
  await write(join(folder, 'events-ledger.csv'), ledgerLines(crowd));
  await write(join(folder, 'events-pairs.csv'), pairLines(crowd));
}

async function write(path: string, lines: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(lines), createWriteStream(path));
}

function* membershipLines({ boards, users }: Community): Generator<string> {
  yield 'board_id,user_id\n';
  for (let user = 0; user < users; user++) yield `${BOARD_OF_ALL},${FIRST_USER + user}\n`;
  for (let board = 1; board < boards; board++) yield `${FIRST_BOARD + board},${USER_OF_ALL}\n`;
}

const EVENT_COLUMNS = 'id,type,action,owner_id,actor_id,board_id,pin_id,timestamp\n';

function* ledgerLines({ events, users }: Community): Generator<string> {
  yield EVENT_COLUMNS;
  const count = Math.round(events * LEDGER_SHARE);
  const pin = pinOf(BOARD_OF_LEDGER);
  for (let event = 0; event < count; event++) {
    const time = instant(event / count);
    yield `${10 * events + event},pin,commented,${ownerOf(pin, { users })},${USER_OF_LEDGER},${BOARD_OF_LEDGER},${pin},${time}\n`;
  }
}

function* pairLines({ events, users }: Community): Generator<string> {
  yield EVENT_COLUMNS;
  const random = makeRandom(7);
  const count = Math.round(events * PAIRS_SHARE);
  for (let event = 0; event < count; event++) {
    const [owner, actor] = [FIRST_USER + random.below(users), FIRST_USER + random.below(users)];
    const time = instant(event / count);
    yield `${20 * events + event},board,followed,${owner},${actor},${BOARD_OF_PAIRS},,${time}\n`;
  }
}

/** The instant at a share of the time span. */
function instant(share: number): string {
  const { startMs, lengthMs } = timeSpan();
  return new Date(startMs + Math.floor(share * lengthMs)).toISOString();
}
