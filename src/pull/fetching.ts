/**
 * Gets what a key can see into the folder of a pull: lists, events and points (contract, section 4). A server with
 * tokens is asked for what is new (decision 19), any other one for everything, unless its entity tags say that nothing is.
 */
import { rm, stat } from 'node:fs/promises';
import { AppError } from '../app-error.ts';
import { itemsOf } from './items.ts';
import type { PullFolder } from './progress.ts';
import type { Source, Variant, Wishes } from './source.ts';

/** Of events in a page. */
const PAGE_LIMIT = 10_000;
/** The data may change while they are looked at; what changes after so many looks comes with the next pull. */
const MOST_LOOKS = 5;
/** A walk whose token or place is refused begins again so often. */
const MOST_BEGINNINGS = 3;
/** After so many boards the progress is saved. */
const SAVED_BOARDS = 50;

/** Files of lists by variant. */
export type Lists = Readonly<Partial<Record<Variant, string>>>;

export interface Fetched {
  readonly users: Lists;
  readonly boards: Lists;
  /** All events as a JSON array; absent when they are in pages. */
  readonly events: string | undefined;
  /** One file a board. */
  readonly points: readonly string[];
}

export class Fetching {
  readonly #source: Source;
  readonly #folder: PullFolder;
  readonly #tell: (news: string) => void;

  constructor(source: Source, folder: PullFolder, tell: (news: string) => void) {
    this.#source = source;
    this.#folder = folder;
    this.#tell = tell;
  }

  /** Absent when nothing is new. Throws `source-refused`. */
  async everything(): Promise<Fetched | undefined> {
    for (let look = 1; ; look++) {
      const fetched = await this.#look();
      if (fetched === undefined || look === MOST_LOOKS || !(await this.#hasChanged())) return fetched;
      this.#tell('The data have changed meanwhile; looking again.');
      await this.#folder.lookAgain();
    }
  }

  async #look(): Promise<Fetched | undefined> {
    const { base } = this.#source;
    const { progress } = this.#folder;
    const users = await this.#list('users', base);
    // The tag of a server with tokens names its version: while that is the one published, nothing else is asked for.
    if (progress.hasTokens === true && !progress.isNew && progress.walk === undefined) return undefined;
    const boards = await this.#list('boards', base);
    const events = await this.#takeEvents();
    const own = await variantOf(users, base);
    const beside = progress.hasTokens === true ? await this.#listsBeside(own) : undefined;
    const other = own === 'a' ? 'b' : 'a';
    const lists = {
      users: { [own]: users, ...(beside && { [other]: beside.users }) },
      boards: { [own]: boards, ...(beside && { [other]: beside.boards }) },
    };
    const hasPoints = own === 'a' || beside !== undefined;
    const points = hasPoints ? await this.#takePoints(this.#source.baseOf('a', own === 'a'), boards) : [];
    return progress.isNew ? { ...lists, events, points } : undefined;
  }

  async #list(kind: 'users' | 'boards', base: string): Promise<string> {
    const file = await this.#take(`${kind}.json`, `${base}/v1/${kind}`);
    if (file === undefined) throw noInterface(base);
    return file;
  }

  /** The lists of the other variant, where the server has it. */
  async #listsBeside(own: Variant): Promise<Record<'users' | 'boards', string> | undefined> {
    const base = this.#source.baseOf(own === 'a' ? 'b' : 'a', false);
    const users = await this.#take('users-beside.json', `${base}/v1/users`);
    const boards = await this.#take('boards-beside.json', `${base}/v1/boards`);
    return users === undefined || boards === undefined ? undefined : { users, boards };
  }

  /** The file, got again unless it holds; undefined where there is no such path. */
  async #take(name: string, url: string, wishes: Wishes = {}, saves = true): Promise<string | undefined> {
    const { progress } = this.#folder;
    const file = this.#folder.file(name);
    const known = progress.files[name];
    if (known?.round === progress.round) return file;
    const got = await this.#source.get(url, file, { ...wishes, etag: known?.etag });
    if (got.outcome === 'got') {
      progress.files[name] = { round: progress.round, etag: got.headers.get('etag') ?? undefined };
      progress.isNew = true;
    } else if (got.outcome === 'same') {
      progress.files[name] = { round: progress.round, etag: known?.etag };
    } else if (got.outcome === 'tokens') {
      progress.hasTokens = true;
      return undefined;
    } else {
      if (known !== undefined) progress.isNew = true;
      delete progress.files[name];
      return undefined;
    }
    if (saves) await this.#folder.save();
    return file;
  }

  /** The file with all events, or undefined: then they are in pages. */
  async #takeEvents(): Promise<string | undefined> {
    const { progress } = this.#folder;
    if (progress.hasTokens !== true) {
      const url = `${this.#source.base}/v1/events`;
      const file = await this.#take('events.json', url, { unlessTokens: progress.hasTokens === undefined });
      if (progress.hasTokens === undefined && file === undefined) throw noInterface(this.#source.base);
      if (file !== undefined) {
        progress.hasTokens = false;
        return file;
      }
    }
    await this.#walk();
    return undefined;
  }

  /** Page after page until there is no next one; only then the token of the walk counts. */
  async #walk(): Promise<void> {
    const { progress } = this.#folder;
    if (progress.files['pages']?.round === progress.round) return;
    let walk = progress.walk ?? { since: progress.token ?? 'start', cursor: undefined };
    for (let beginnings = 1; ; ) {
      const query = new URLSearchParams({ since: walk.since, limit: String(PAGE_LIMIT) });
      if (walk.cursor !== undefined) query.set('cursor', walk.cursor);
      const page = this.#folder.nextPage;
      const url = `${this.#source.base}/v1/events?${query}`;
      const got = await this.#source.get(url, page, { accept: 'application/x-ndjson' });
      if (got.outcome !== 'got') {
        if (got.outcome !== 'stale' || beginnings++ === MOST_BEGINNINGS) throw noInterface(url);
        this.#tell('The server does not know the place any more; beginning again.');
        walk = { since: 'start', cursor: undefined };
        progress.pages = 0;
        continue;
      }
      await this.#keepPage(page);
      const cursor = cursorOf(got.headers.get('link'));
      if (cursor === undefined) {
        progress.token = got.headers.get('sync-token') ?? undefined;
        progress.walk = undefined;
        progress.files['pages'] = { round: progress.round, etag: undefined };
        await this.#folder.save();
        return;
      }
      walk = { since: walk.since, cursor };
      progress.walk = walk;
      await this.#folder.save();
      this.#tell(`Events: ${progress.pages} pages.`);
    }
  }

  async #keepPage(page: string): Promise<void> {
    if ((await stat(page)).size === 0) return await rm(page);
    this.#folder.progress.pages += 1;
    this.#folder.progress.isNew = true;
    return undefined;
  }

  async #takePoints(base: string, boards: string): Promise<readonly string[]> {
    const files: string[] = [];
    for await (const { id } of itemsOf(boards)) {
      const saves = files.length % SAVED_BOARDS === SAVED_BOARDS - 1;
      const file = await this.#take(`points-${id}.json`, `${base}/v1/board/${id}/points`, {}, saves);
      if (file !== undefined) files.push(file);
    }
    await this.#folder.save();
    return files;
  }

  /** Whether the server has published meanwhile; never of one without entity tags. */
  async #hasChanged(): Promise<boolean> {
    const { progress } = this.#folder;
    const etag = progress.files['users.json']?.etag;
    if (etag === undefined) return false;
    const file = this.#folder.file('users.json');
    const got = await this.#source.get(`${this.#source.base}/v1/users`, file, { etag });
    if (got.outcome !== 'got') return false;
    progress.files['users.json'] = { round: progress.round + 1, etag: got.headers.get('etag') ?? undefined };
    return true;
  }
}

/** By what the users are called (contract 2.7); where there are none, by the address. */
async function variantOf(users: string, base: string): Promise<Variant> {
  for await (const user of itemsOf(users)) return 'first_name' in user || 'last_name' in user ? 'a' : 'b';
  return base.endsWith('/b') ? 'b' : 'a';
}

/** Out of the address of the next page, whose path may not be the one that leads there from here. */
function cursorOf(link: string | null): string | undefined {
  const [, target = ''] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? '') ?? [];
  return new URLSearchParams(target.split('?')[1] ?? '').get('cursor') ?? undefined;
}

function noInterface(url: string): AppError {
  return new AppError(
    'source-refused',
    `There is no interface at ${url}. Name the base of a variant, below which /v1/events lies, like http://host/a.`,
  );
}
