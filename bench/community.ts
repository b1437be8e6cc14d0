/**
 * A generated community as a bundle of files: any number of events of about 0.9 KB each as rendered
 * by the API, one board per 100 events, three pins per board, and one user per 50 events but at
 * least 20,000. It is streamed to disk, with the same bytes for the same number of events.
 */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeRandom, type Random } from './random.ts';

const LEAST_USERS = 20_000;
const EVENTS_PER_USER = 50;
const PINS_PER_BOARD = 3;
const EVENTS_PER_BOARD = 100;
export const FIRST_USER = 100_001;
export const FIRST_BOARD = 1_001;
const FIRST_PIN = 5_000_001;
const START_MS = Date.UTC(2025, 0, 6, 6);
const SPAN_MS = 300 * 86_400_000;
/** Events are out of order by at most as much. */
const SHUFFLED_MS = 600_000;
const LATEST_MS = 3_600_000;
const PART_BYTES = 256 * 1024;

const GIVEN =
  'Ada Bela Chen Dara Emil Farah Goro Hana Ines Jonas Kofi Lena Marta Nuri Olga Pia Rosa Sven Tariq Zoë';
const FAMILY =
  'Abara Bergström Castro Dimitrov Eriksen Fofanah Gruber Hussain Ito Jansen Kowalski Lindqvist Moreau Nakamura Okafor Peters';
const WORDS =
  'reading board class note answer question week project model source lesson group theory example method result field ' +
  'paper chapter figure because which together against between without another further change learn write compare';
const ACTIONS = ['visited', 'visited', 'visited', 'visited', 'visited', 'commented', 'liked', 'bookmarked'];

interface TimeSpan {
  readonly startMs: number;
  readonly lengthMs: number;
}

const WHOLE_TIME: TimeSpan = { startMs: START_MS, lengthMs: SPAN_MS };

export interface Community {
  readonly events: number;
  readonly boards: number;
  readonly users: number;
}

/** More events mean more boards and users, not larger ones: a small response stays small. */
export function communityOf(events: number): Community {
  return {
    events,
    boards: Math.max(1, Math.round(events / EVENTS_PER_BOARD)),
    users: Math.max(LEAST_USERS, Math.round(events / EVENTS_PER_USER)),
  };
}

/**
 * Writes the bundle into an existing folder. Bodies of pins are `moreCharacters` characters longer.
 */
export async function writeCommunity(
  folder: string,
  community: Community,
  moreCharacters = 0,
): Promise<void> {
  await writeLines(join(folder, 'users.csv'), userLines(makeRandom(1), community.users));
  await writeLines(join(folder, 'boards.csv'), boardLines(makeRandom(2), community.boards));
  await writeLines(join(folder, 'pins.ndjson'), pinLines(makeRandom(3), community, moreCharacters));
  await writeLines(join(folder, 'events.csv'), eventLines(makeRandom(4), community));
}

/** The boards, of about 100 events each, in a scattered order. */
export function boardIds({ boards }: Community): number[] {
  return Array.from({ length: boards }, (_, i) => FIRST_BOARD + ((i * 7_919) % boards));
}

/**
 * Users who act in 60 to 160 events, which by Zipf's law are those around a certain rank. In a
 * scattered order.
 */
export function userIds({ events, users }: Community): number[] {
  const rank = events / 100 / Math.log(users + 1);
  const first = Math.round(rank * 0.6);
  const count = Math.max(1, Math.min(users, Math.round(rank * 1.6)) - first);
  return Array.from({ length: count }, (_, i) => FIRST_USER + first + ((i * 7_919) % count));
}

/** Time ranges of about 100 events each, [start, end) in Unix milliseconds. */
export function windows({ events }: Community, count: number): { startMs: number; endMs: number }[] {
  const random = makeRandom(5);
  const lengthMs = Math.round((SPAN_MS / events) * 100);
  return Array.from({ length: count }, () => {
    const startMs = START_MS + random.below(SPAN_MS - lengthMs);
    return { startMs, endMs: startMs + lengthMs };
  });
}

/** The middle half of the time span, slightly different each time. */
export function halfRanges(count: number): { startMs: number; endMs: number }[] {
  return Array.from({ length: count }, (_, at) => {
    const startMs = START_MS + SPAN_MS / 4 + at;
    return { startMs, endMs: startMs + SPAN_MS / 2 };
  });
}

export interface Increment {
  /** Increments with different numbers have different events. */
  readonly number?: number;
  /** Whether they are later than all others, or spread over the whole time span. */
  readonly isLatest?: boolean;
}

/** Writes events to import after the community, spread over its boards. */
export async function writeIncrement(
  file: string,
  community: Community,
  count: number,
  { number = 0, isLatest = false }: Increment = {},
): Promise<void> {
  const before = community.events + number * count;
  const time = isLatest ? { startMs: START_MS + (number + 2) * SPAN_MS, lengthMs: LATEST_MS } : WHOLE_TIME;
  const lines = eventLines(makeRandom(6 + number), { ...community, events: count }, time);
  const later = function* (): Generator<string> {
    // They get new ids: without an id, an equal record would be the same event.
    for (const line of lines) yield line.replace(/^\d+/, (id) => `${before + Number(id)}`);
  };
  await writeLines(file, later());
}

async function writeLines(path: string, lines: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(joinLines(lines)), createWriteStream(path));
}

/** Joins lines to chunks of about 256 KiB: one write per line would take longer than making it. */
function* joinLines(lines: Iterable<string>): Generator<string> {
  let part = '';
  for (const line of lines) {
    part += `${line}\n`;
    if (part.length < PART_BYTES) continue;
    yield part;
    part = '';
  }
  yield part;
}

function* userLines(random: Random, users: number): Generator<string> {
  const given = GIVEN.split(' ');
  const family = FAMILY.split(' ');
  yield 'id,email,first_name,last_name,role,class_role';
  for (let user = 0; user < users; user++) {
    const id = FIRST_USER + user;
    const teaches = user % 50 === 0;
    const roles = teaches ? 'coadmin,instructor' : 'user,student';
    yield `${id},member.${id}@campus.example,${random.pick(given)},${random.pick(family)},${roles}`;
  }
}

function* boardLines(random: Random, boards: number): Generator<string> {
  yield 'id,title,category,lti_id,course_id';
  for (let board = 0; board < boards; board++) {
    const id = FIRST_BOARD + board;
    const category = random.next() < 0.7 ? 'Communications' : 'Bookmarks';
    yield `${id},${text(random, 20)} ${id},${category},lti-${id},course-${id}`;
  }
}

function* pinLines(random: Random, { boards, users }: Community, moreCharacters: number): Generator<string> {
  const tags = WORDS.split(' ').slice(0, 12);
  for (let pin = 0; pin < boards * PINS_PER_BOARD; pin++) {
    const id = FIRST_PIN + pin;
    yield JSON.stringify({
      id,
      board_id: FIRST_BOARD + Math.floor(pin / PINS_PER_BOARD),
      owner_id: ownerOfIndex(pin, users),
      title: text(random, 30 + random.below(40)),
      body: text(random, moreCharacters + 80 + random.below(300)),
      web_url: `https://campus.example/read/${id}`,
      image_url: random.next() < 0.5 ? `https://campus.example/images/${id}.jpg` : '',
      tags: Array.from({ length: random.below(4) }, () => random.pick(tags)),
    });
  }
}

/** Mostly in order of time, as a platform would export them; the actors follow Zipf's law. */
function* eventLines(
  random: Random,
  { events, boards, users }: Community,
  { startMs, lengthMs }: TimeSpan = WHOLE_TIME,
): Generator<string> {
  yield 'id,type,action,owner_id,actor_id,board_id,pin_id,timestamp';
  for (let event = 0; event < events; event++) {
    const board = random.below(boards);
    const instantMs = startMs + Math.floor((event / events) * lengthMs) + random.below(SHUFFLED_MS);
    const place = `${FIRST_BOARD + board}`;
    const time = new Date(instantMs).toISOString().replace('Z', '+00:00');
    const actor = FIRST_USER + random.skewed(users);
    const pin = board * PINS_PER_BOARD + random.skewed(PINS_PER_BOARD);
    if (random.next() < 0.05) {
      yield `${event + 1},board,followed,${ownerOfIndex(board * PINS_PER_BOARD, users)},${actor},${place},,${time}`;
    } else if (event % 33 === 0) {
      yield `${event + 1},pin,created,${ownerOfIndex(pin, users)},${ownerOfIndex(pin, users)},${place},${FIRST_PIN + pin},${time}`;
    } else {
      const action = random.pick(ACTIONS);
      yield `${event + 1},pin,${action},${ownerOfIndex(pin, users)},${actor},${place},${FIRST_PIN + pin},${time}`;
    }
  }
}

/** Owners are spread over all users: 7,919 is prime and shares no factor with their number. */
function ownerOfIndex(pin: number, users: number): number {
  return FIRST_USER + ((pin * 7_919) % users);
}

/** The first pin of a board. */
export function pinOf(board: number): number {
  return FIRST_PIN + (board - FIRST_BOARD) * PINS_PER_BOARD;
}

/** The owner of a pin. */
export function ownerOf(pin: number, { users }: Pick<Community, 'users'>): number {
  return ownerOfIndex(pin - FIRST_PIN, users);
}

/** The time span of the events of any community. */
export function timeSpan(): TimeSpan {
  return WHOLE_TIME;
}

const vocabulary = WORDS.split(' ');

/** Words with a total length of about `characters`. */
function text(random: Random, characters: number): string {
  let made = random.pick(vocabulary);
  while (made.length < characters) made += ` ${random.pick(vocabulary)}`;
  return made;
}
