/** How long a request of each kind blocks the event loop of the server. */
import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Ground, type Plan, prepareGround } from '../bed.ts';
import { writeIncrement } from '../community.ts';
import { type Corkboard, importFiles, makeKey, startCorkboard } from '../corkboard.ts';
import { BOARD_OF_ALL, boardsOfCrowd, USER_OF_ALL, usersOfCrowd } from '../crowd.ts';
import { type Asked, type KeyName, requestsOf } from '../crowd-requests.ts';
import { ask } from '../processes.ts';
import type { Stalls } from '../stall-watch.ts';
import { duration } from '../table.ts';

const REPEATS = 4;
/** The rest of a longer response is not read: it repeats the same work. */
const MOST_BYTES = 32 * 1024 * 1024;
const TIMEOUT_MS = 120_000;
const POLL_MS = 50;
/** Number of boards or users in the scope of a key. */
const NAMED = 10_000;
const PUBLICATIONS = 3;
const INCREMENT_EVENTS = 2_000;
const RENAMED_USERS = 500;
const WATCH = new URL('../stall-watch.ts', import.meta.url).href;

type Keys = Readonly<Record<KeyName, string>>;

/** By title: the minimum of the longest stalls, for the first request and for later ones. */
type StallFigures = Map<string, { first: Stalls; again: Stalls }>;

const ENDLESS: Stalls = { wallMs: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY };

export async function measureBlocking(
  plan: Plan,
  about: Pick<Ground, 'title' | 'community' | 'folder' | 'firstPath'>,
  bundle: string,
): Promise<void> {
  const { report, signal } = plan;
  report.say(`${about.title}: importing`);
  const { ground } = await prepareGround(about, [bundle], signal);
  const keys = await makeKeys(ground, signal);
  const figures: StallFigures = new Map();
  for (let round = 0; round < plan.rounds; round++) {
    report.say(`${about.title}: longest stalls, round ${round + 1}`);
    await measureRequests(ground, keys, figures, requestsOf(ground.community), signal);
  }
  report.say(`${about.title}: longest stalls of new versions`);
  await measurePublications(ground, keys.full, figures, signal);
  for (const [title, { first, again }] of figures) {
    const cells = [first, again].flatMap(({ cpuMs, wallMs }) => [cpuMs, wallMs]);
    const shown = cells.map((ms) => duration(Number.isFinite(ms) ? ms : undefined));
    report.addRow('blocking', about.title, title, ...shown);
  }
}

async function makeKeys(ground: Ground, signal: AbortSignal): Promise<Keys> {
  const { dataDir, community } = ground;
  const boards = boardsOfCrowd(community).slice(0, NAMED);
  const make = (...options: string[]) => makeKey(dataDir, signal, options);
  return {
    full: ground.key,
    email: await make('--redact', 'email'),
    name: await make('--redact', 'name'),
    both: await make('--redact', 'email,name'),
    ids: await make('--redact', 'id'),
    boards: await make('--boards', boards.join()),
    otherBoards: await make('--boards', boards.slice(0, -1).join(), '--users', 'all'),
    users: await make('--users', usersOfCrowd(community).slice(0, NAMED).join()),
  };
}

/** Sends each request several times to a server that has just started. */
async function measureRequests(
  ground: Ground,
  keys: Keys,
  figures: StallFigures,
  requests: readonly Asked[],
  signal: AbortSignal,
): Promise<void> {
  await using server = await startWatched(ground, signal);
  for (const asked of requests) {
    const { title, method = 'GET', repeats = REPEATS } = asked;
    const headers = { apikey: keys[asked.key ?? 'full'], 'accept-encoding': 'identity', ...asked.headers };
    for (let nth = 0; nth <= repeats; nth++) {
      const reading = () => read(server.port, asked.path(nth), method, headers, signal);
      note(figures, title, nth === 0 ? 'first' : 'again', await stallsDuring(server, reading));
    }
  }
}

/** Measures from the start of an import, in its own process, until the server uses the version. */
async function measurePublications(
  ground: Ground,
  key: string,
  figures: StallFigures,
  signal: AbortSignal,
): Promise<void> {
  await using server = await startWatched(ground, signal);
  const get = (path: string) => read(server.port, path, 'GET', { apikey: key }, signal);
  await get(`/a/v1/board/${BOARD_OF_ALL}/points`);
  await get('/a/v1/users?limit=1');
  for (const isOfEvents of [true, false]) {
    const title = isOfEvents ? 'a new version, of events alone' : 'a new version, with renamed users';
    for (let nth = 0; nth < PUBLICATIONS; nth++) {
      const token = (await get('/a/v1/events?limit=1'))['sync-token'];
      const files = await writeNews(ground, isOfEvents, nth);
      const publishing = async () => {
        await importFiles(files, ground.dataDir, signal);
        const endMs = performance.now() + TIMEOUT_MS;
        while ((await get('/a/v1/events?limit=1'))['sync-token'] === token) {
          if (performance.now() > endMs) throw new Error('A new version did not come into service.');
          await pause(POLL_MS, undefined, { signal });
        }
      };
      note(figures, title, 'again', await stallsDuring(server, publishing));
      const syncing = () => get(`/a/v1/events?since=${token}`);
      note(figures, `${title}: since the one before`, 'first', await stallsDuring(server, syncing));
    }
  }
}

/** Writes new events, or new events and renamed users; different ones each time. */
async function writeNews(ground: Ground, isOfEvents: boolean, nth: number): Promise<string[]> {
  const { folder, community } = ground;
  const events = join(folder, 'events-news.csv');
  // A shift to ids that no earlier event has.
  const shift = (isOfEvents ? 100 : 200) + nth;
  await writeIncrement(events, { ...community, events: shift * community.events }, INCREMENT_EVENTS);
  if (isOfEvents) return [events];
  const users = join(folder, 'users-news.csv');
  const lines = Array.from({ length: RENAMED_USERS }, (_, user) => {
    const id = USER_OF_ALL + user;
    return `${id},member.${id}@campus.example,Renamed ${nth},Person,user`;
  });
  await writeFile(users, ['id,email,first_name,last_name,role', ...lines, ''].join('\n'));
  return [users, events];
}

function startWatched(ground: Ground, signal: AbortSignal): Promise<Corkboard> {
  return startCorkboard(ground.dataDir, signal, { options: ['--workers', '1'], preload: WATCH });
}

async function stallsDuring(server: Corkboard, work: () => Promise<unknown>): Promise<Stalls> {
  await ask<Stalls>(server, {}, TIMEOUT_MS);
  await work();
  return await ask<Stalls>(server, {}, TIMEOUT_MS);
}

function note(figures: StallFigures, title: string, when: 'first' | 'again', stalls: Stalls): void {
  const known = figures.get(title) ?? { first: ENDLESS, again: ENDLESS };
  known[when] = {
    wallMs: Math.min(known[when].wallMs, stalls.wallMs),
    cpuMs: Math.min(known[when].cpuMs, stalls.cpuMs),
  };
  figures.set(title, known);
}

/** Reads a response, or the beginning of a long one; returns its header. Throws on a refusal. */
function read(
  port: number,
  path: string,
  method: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    request({ port, path, method, headers, signal, agent: false }, (response) => {
      if (response.statusCode !== 200 && response.statusCode !== 304) {
        reject(new Error(`${path} answered ${response.statusCode}.`));
      }
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MOST_BYTES) response.destroy();
      });
      response.on('error', reject).on('close', () => resolve(response.headers));
    })
      .on('error', reject)
      .end();
  });
}
