/**
 * Fetches everything that a key can see into the folder of a pull: lists, events and points
 * (contract, section 4). From a server with sync tokens it requests only changes (decision 19).
 * From any other server it requests everything, unless the entity tags show that nothing has
 * changed.
 */
import { pathWith } from '../client/asking.ts';
import { PATHS } from '../client/schema-a.ts';
import type { PullFolder } from './folder.ts';
import { keptItems } from './kept-lines.ts';
import type { PullLimits } from './limits.ts';
import { readAllPages } from './pages.ts';
import type { FileName } from './progress.ts';
import { noInterface } from './refusal.ts';
import { type ResponseReading, readBoards, readEvents, readPoints, readUsers } from './responses.ts';
import type { Got, PullSource, SourceVariant } from './source.ts';

/**
 * Maximum number of rounds, because data can change while it is fetched. Later changes are fetched
 * by the next pull.
 */
const MOST_LOOKS = 5;
/** Number of boards after which the progress is saved; larger if many boards have been fetched. */
const SAVED_BOARDS = 50;
const SAVED_SHARE = 20;

/** The file of a list, by variant. */
export type Lists = Readonly<Partial<Record<SourceVariant, string>>>;

export interface Fetched {
  readonly users: Lists;
  readonly boards: Lists;
  /** A file with all events, one per line; undefined if they are in pages. */
  readonly events: string | undefined;
  readonly pages: readonly string[];
  /** One file per board. */
  readonly points: readonly string[];
}

/** The location of a response, and how to read it. */
interface PulledResource {
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

  /** Undefined if nothing has changed. Throws `source-refused`. */
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
   * Whether the entity tags of all published responses are still valid. Otherwise the tags are
   * removed: the responses themselves are not kept, so a change can only be fetched together with
   * everything else.
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

  /** The lists of the other variant; undefined if the server does not have it. */
  async #takeBeside(): Promise<Record<'users' | 'boards', string> | undefined> {
    const users = await this.#take(this.#resource('users-beside'));
    const boards = await this.#take(this.#resource('boards-beside'));
    return users === undefined || boards === undefined ? undefined : { users, boards };
  }

  /** The file with all events; undefined if they are in pages. */
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
   * If the first page is refused, the next pull determines again whether the server has sync
   * tokens: a different server may respond by then.
   */
  async #walk(): Promise<void> {
    const { progress } = this.#folder;
    try {
      await readAllPages(this.#source, this.#folder, this.#limits, this.#tell);
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

  /**
   * The file of a response, which is requested unless it is valid for this round; undefined if
   * there is no such path.
   */
  async #take(resource: PulledResource, saves = true): Promise<string | undefined> {
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

  /** Sends a request. A new response is stored. */
  async #ask({ name, ...resource }: PulledResource): Promise<Got> {
    const { progress, room } = this.#folder;
    const slot = this.#folder.slot(name);
    const etag = progress.files.get(name)?.etag;
    const unlessTokens = name === 'events' && progress.hasTokens === undefined;
    const got = await this.#source.get({ ...resource, file: slot.path, room, etag, unlessTokens });
    if (got.outcome === 'got') this.#folder.put(name, slot, got.bytes, tagOf(got.headers));
    return got;
  }

  #resource(name: FileName): PulledResource {
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

  #baseOf(variant: SourceVariant): string {
    return this.#source.baseOf(variant, variant === this.#folder.progress.variant);
  }

  /** Whether the server has published in the meantime; always false without entity tags. */
  async #hasChanged(): Promise<boolean> {
    const { progress } = this.#folder;
    if (progress.files.get('users')?.etag === undefined) return false;
    if ((await this.#ask(this.#resource('users'))).outcome !== 'got') return false;
    const known = progress.files.get('users');
    // The new response is already valid for the next round.
    if (known !== undefined) progress.files.set('users', { ...known, round: progress.round + 1 });
    return true;
  }
}

function isPoints(name: FileName): name is `points ${string}` {
  return name.startsWith('points ');
}

/** Determined by the name fields of users (contract 2.7), or by the URL if there are no users. */
async function variantOf(users: string, base: string): Promise<SourceVariant> {
  for await (const user of keptItems(users)) return 'first_name' in user || 'last_name' in user ? 'a' : 'b';
  return base.endsWith('/b') ? 'b' : 'a';
}

/** A valid entity tag of HTTP. Any other value could not be sent back. */
function tagOf(headers: Headers): string | undefined {
  return /^(?:W\/)?"[\x21\x23-\x7e]{0,1000}"$/.exec(headers.get('etag') ?? '')?.[0];
}
