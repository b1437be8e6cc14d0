/**
 * An invented community as a bundle of files: 20,000 users, 10,000 boards, 30,000 pins and any number of events of
 * about 0.9 KB each as the API renders them. Streamed to disk, the same bytes for the same number of events.
 */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeRandom, type Random } from './random.ts';

const USERS = 20_000;
const BOARDS = 10_000;
const PINS_PER_BOARD = 3;
const EVENTS_PER_BOARD = 100;
const FIRST_USER = 100_001;
const FIRST_BOARD = 1_001;
const FIRST_PIN = 5_000_001;
const START_MS = Date.UTC(2025, 0, 6, 6);
const SPAN_MS = 300 * 86_400_000;
const PART_BYTES = 256 * 1024;

/** The board that is asked for by itself, with about 100 events. */
export const COMMUNITY_BOARD = FIRST_BOARD;

const GIVEN =
  'Ada Bela Chen Dara Emil Farah Goro Hana Ines Jonas Kofi Lena Marta Nuri Olga Pia Rosa Sven Tariq Zoë';
const FAMILY =
  'Abara Bergström Castro Dimitrov Eriksen Fofanah Gruber Hussain Ito Jansen Kowalski Lindqvist Moreau Nakamura Okafor Peters';
const WORDS =
  'reading board class note answer question week project model source lesson group theory example method result field ' +
  'paper chapter figure because which together against between without another further change learn write compare';
const ACTIONS = ['visited', 'visited', 'visited', 'visited', 'visited', 'commented', 'liked', 'bookmarked'];

/** Writes the bundle into an existing folder. Fewer than a million events make fewer boards and pins, not smaller ones. */
export async function writeCommunity(folder: string, events: number): Promise<void> {
  const boards = Math.max(1, Math.min(BOARDS, Math.round(events / EVENTS_PER_BOARD)));
  await writeLines(join(folder, 'users.csv'), userLines(makeRandom(1)));
  await writeLines(join(folder, 'boards.csv'), boardLines(makeRandom(2), boards));
  await writeLines(join(folder, 'pins.ndjson'), pinLines(makeRandom(3), boards));
  await writeLines(join(folder, 'events.csv'), eventLines(makeRandom(4), events, boards));
}

async function writeLines(path: string, lines: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(joinLines(lines)), createWriteStream(path));
}

/** Joins lines to parts of about 256 KiB: a write per line would take longer than making it. */
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

function* userLines(random: Random): Generator<string> {
  const given = GIVEN.split(' ');
  const family = FAMILY.split(' ');
  yield 'id,email,first_name,last_name,role,class_role';
  for (let user = 0; user < USERS; user++) {
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

function* pinLines(random: Random, boards: number): Generator<string> {
  const tags = WORDS.split(' ').slice(0, 12);
  for (let pin = 0; pin < boards * PINS_PER_BOARD; pin++) {
    const id = FIRST_PIN + pin;
    yield JSON.stringify({
      id,
      board_id: FIRST_BOARD + Math.floor(pin / PINS_PER_BOARD),
      owner_id: pinOwner(pin),
      title: text(random, 30 + random.below(40)),
      body: text(random, 80 + random.below(300)),
      web_url: `https://campus.example/read/${id}`,
      image_url: random.next() < 0.5 ? `https://campus.example/images/${id}.jpg` : '',
      tags: Array.from({ length: random.below(4) }, () => random.pick(tags)),
    });
  }
}

/** Mostly in order of time, as a platform would export them; who acts follows Zipf's law. */
function* eventLines(random: Random, events: number, boards: number): Generator<string> {
  yield 'id,type,action,owner_id,actor_id,board_id,pin_id,timestamp';
  for (let event = 0; event < events; event++) {
    const board = random.below(boards);
    const instantMs = START_MS + Math.floor((event / events) * SPAN_MS) + random.below(600_000);
    const place = `${FIRST_BOARD + board}`;
    const time = new Date(instantMs).toISOString().replace('Z', '+00:00');
    const actor = FIRST_USER + random.skewed(USERS);
    const pin = board * PINS_PER_BOARD + random.skewed(PINS_PER_BOARD);
    if (random.next() < 0.05) {
      yield `${event + 1},board,followed,${pinOwner(board * PINS_PER_BOARD)},${actor},${place},,${time}`;
    } else if (event % 33 === 0) {
      yield `${event + 1},pin,created,${pinOwner(pin)},${pinOwner(pin)},${place},${FIRST_PIN + pin},${time}`;
    } else {
      const action = random.pick(ACTIONS);
      yield `${event + 1},pin,${action},${pinOwner(pin)},${actor},${place},${FIRST_PIN + pin},${time}`;
    }
  }
}

/** Owners are spread over all users: 7,919 is prime and shares no factor with their number. */
function pinOwner(pin: number): number {
  return FIRST_USER + ((pin * 7_919) % USERS);
}

const vocabulary = WORDS.split(' ');

/** Words up to about so many characters. */
function text(random: Random, characters: number): string {
  let made = random.pick(vocabulary);
  while (made.length < characters) made += ` ${random.pick(vocabulary)}`;
  return made;
}
