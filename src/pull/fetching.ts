/**
 * Gets what a key can see into the folder of a pull: lists, events and points (contract, section 4). A server with
 * tokens is asked for what is new (decision 19), any other one for everything, unless its entity tags say that nothing is.
 */
import { pathWith } from '../client/asking.ts';
import { PATHS } from '../client/schema-a.ts';
import type { PullFolder } from './folder.ts';
import { keptItems } from './kept-lines.ts';
import type { PullLimits } from './limits.ts';
import type { FileName } from './progress.ts';
import { noInterface } from './refusal.ts';
import { type ResponseReading, readBoards, readEvents, readPoints, readUsers } from './responses.ts';
import type { Got, PullSource, Variant } from './source.ts';
import { walkEvents } from './walk.ts';

/** The data may change while they are looked at; what changes after so many looks comes with the next pull. */
const MOST_LOOKS = 5;
/** After so many boards the progress is saved, and the more boards there are the less often. */
const SAVED_BOARDS = 50;
const SAVED_SHARE = 20;

/** Files of lists by variant. */
export type Lists = Readonly<Partial<Record<Variant, string>>>;

export interface Fetched {
  readonly users: Lists;
  readonly boards: Lists;
  /** All events, a line each; absent when they are in pages. */
  readonly events: string | undefined;
  readonly pages: readonly string[];
  /** One file a board. */
  readonly points: readonly string[];
}

/** Where a response is to be found, and how it is read. */
interface Resource {
  readonly name: FileName;
  readonly baseUrl: string;
  readonly path: string;
  readonly read: ResponseReading;
  readonly mostBytes: number;
}

export class Fetching {
  readonly #source: PullSource;
  readonly #folder: PullFolder;
  readonly #limits: PullLimits;
  readonly #tell: (news: string) => void;

  constructor(source: PullSource, folder: PullFolder, limits: PullLimits, tell: (news: string) => void) {
    this.#source = source;
    this.#folder = folder;
    this.#limits = limits;
    this.#tell = tell;
  }

  /** Absent when nothing is new. Throws `source-refused`. */
  async everything(): Promise<Fetched | undefined> {
    if (await this.#isUnchanged()) return undefined;
    for (let look = 1; ; look++) {
      const fetched = await this.#look();
      if (look === MOST_LOOKS || !(await this.#hasChanged())) return fetched;
      this.#tell('The data has changed in the meantime; checking again.');
      await this.#folder.lookAgain();
    }
  }

  /**
   * Whether all entity tags of what was published last still hold. Otherwise they are of no use any
   * more: without the responses, which are not kept, what has changed can only be taken together
   * with everything else.
   */
  async #isUnchanged(): Promise<boolean> {
    const { files, isNew, walk } = this.#folder.progress;
    const published = [...files].filter(([, { file }]) => file === undefined);
    const isAtRest = published.length > 0 && published.length === files.size && !isNew && walk === undefined;
    let isUnchanged = isAtRest && published.every(([, { etag }]) => etag !== undefined);
    for (const [name] of published) {
      isUnchanged &&= (await this.#ask(this.#resource(name))).outcome === 'same';
    }
    if (isUnchanged) return true;
    for (const [name] of published) if (files.get(name)?.file === undefined) files.delete(name);
    return false;
  }

  async #look(): Promise<Fetched> {
    const { progress } = this.#folder;
    const users = await this.#takeList('users');
    const boards = await this.#takeList('boards');
    const events = await this.#takeEvents();
    const own = await variantOf(users, this.#source.base);
    progress.variant = own;
    const beside = progress.hasTokens === true ? await this.#takeBeside() : undefined;
    const other = own === 'a' ? 'b' : 'a';
    if (own === 'a' || beside !== undefined) await this.#takePoints(boards);
    const { pages, points } = this.#folder;
    return {
      users: { [own]: users, ...(beside && { [other]: beside.users }) },
      boards: { [own]: boards, ...(beside && { [other]: beside.boards }) },
      ...{ events, pages, points },
    };
  }

  async #takeList(name: 'users' | 'boards'): Promise<string> {
    const file = await this.#take(this.#resource(name));
    if (file === undefined) throw noInterface(this.#source.base);
    return file;
  }

  /** The lists of the other variant, where the server has it. */
  async #takeBeside(): Promise<Record<'users' | 'boards', string> | undefined> {
    const users = await this.#take(this.#resource('users-beside'));
    const boards = await this.#take(this.#resource('boards-beside'));
    return users === undefined || boards === undefined ? undefined : { users, boards };
  }

  /** The file with all events, or undefined: then they are in pages. */
  async #takeEvents(): Promise<string | undefined> {
    const { progress } = this.#folder;
    if (progress.hasTokens !== true) {
      const file = await this.#take(this.#resource('events'));
      if (progress.hasTokens === undefined && file === undefined) throw noInterface(this.#source.base);
      if (file !== undefined) {
        progress.hasTokens = false;
        return file;
      }
    }
    await this.#walk();
    return undefined;
  }

  /**
   * After a refusal of the first page the next pull finds out again whether the server has tokens:
   * another one may answer by then.
   */
  async #walk(): Promise<void> {
    const { progress } = this.#folder;
    try {
      await walkEvents(this.#source, this.#folder, this.#limits, this.#tell);
    } catch (error) {
      if (progress.walk === undefined && progress.pages.count === 0) {
        progress.hasTokens = undefined;
        await this.#folder.save();
      }
      throw error;
    }
  }

  async #takePoints(boards: string): Promise<void> {
    let taken = 0;
    for await (const { id } of keptItems(boards)) {
      taken += 1;
      const saves = taken % Math.max(SAVED_BOARDS, Math.floor(taken / SAVED_SHARE)) === 0;
      await this.#take(this.#resource(`points ${String(id)}`), saves);
    }
    await this.#folder.save();
  }

  /** The file, got again unless it holds; undefined where there is no such path. */
  async #take(resource: Resource, saves = true): Promise<string | undefined> {
    const { progress } = this.#folder;
    const { name } = resource;
    const held = this.#folder.file(name);
    if (held !== undefined) return held;
    const { outcome } = await this.#ask(resource);
    const known = progress.files.get(name);
    if (outcome === 'same' && known !== undefined)
      progress.files.set(name, { ...known, round: progress.round });
    else if (outcome === 'tokens') progress.hasTokens = true;
    else if (outcome !== 'got') {
      if (known !== undefined) progress.isNew = true;
      progress.files.delete(name);
    }
    if (saves) await this.#folder.save();
    return this.#folder.file(name);
  }

  /** A response that has come is kept. */
  async #ask({ name, ...resource }: Resource): Promise<Got> {
    const { progress, room } = this.#folder;
    const slot = this.#folder.slot(name);
    const etag = progress.files.get(name)?.etag;
    const unlessTokens = name === 'events' && progress.hasTokens === undefined;
    const got = await this.#source.get({ ...resource, file: slot.path, room, etag, unlessTokens });
    if (got.outcome === 'got') this.#folder.put(name, slot, got.bytes, tagOf(got.headers));
    return got;
  }

  #resource(name: FileName): Resource {
    const { base } = this.#source;
    const { listBytes, eventsBytes, pointsBytes, boards } = this.#limits;
    if (name === 'events')
      return { name, baseUrl: base, path: PATHS.listEvents, read: readEvents, mostBytes: eventsBytes };
    if (isPoints(name)) {
      const id = name.slice('points '.length);
      const path = pathWith(PATHS.getPointsOfBoard, { boardId: id });
      return { name, baseUrl: this.#baseOf('a'), path, read: readPoints(id), mostBytes: pointsBytes };
    }
    const other = this.#folder.progress.variant === 'a' ? 'b' : 'a';
    const baseUrl = name.endsWith('-beside') ? this.#baseOf(other) : base;
    const list = name.startsWith('users')
      ? { path: PATHS.listUsers, read: readUsers }
      : { path: PATHS.listBoards, read: readBoards(boards) };
    return { name, baseUrl, ...list, mostBytes: listBytes };
  }

  #baseOf(variant: Variant): string {
    return this.#source.baseOf(variant, variant === this.#folder.progress.variant);
  }

  /** Whether the server has published meanwhile; never of one without entity tags. */
  async #hasChanged(): Promise<boolean> {
    const { progress } = this.#folder;
    if (progress.files.get('users')?.etag === undefined) return false;
    if ((await this.#ask(this.#resource('users'))).outcome !== 'got') return false;
    const known = progress.files.get('users');
    // It holds for the next look already.
    if (known !== undefined) progress.files.set('users', { ...known, round: progress.round + 1 });
    return true;
  }
}

function isPoints(name: FileName): name is `points ${string}` {
  return name.startsWith('points ');
}

/** By what the users are called (contract 2.7); where there are none, by the address. */
async function variantOf(users: string, base: string): Promise<Variant> {
  for await (const user of keptItems(users)) return 'first_name' in user || 'last_name' in user ? 'a' : 'b';
  return base.endsWith('/b') ? 'b' : 'a';
}

/** As HTTP has them; anything else could not be sent back. */
function tagOf(headers: Headers): string | undefined {
  return /^(?:W\/)?"[\x21\x23-\x7e]{0,1000}"$/.exec(headers.get('etag') ?? '')?.[0];
}
