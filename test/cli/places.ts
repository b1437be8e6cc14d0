/** Data folders and databases for commands, and what a server shows of them. */
import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { withPlace } from '../../src/cli/process/storage.ts';
import { openPostgresKeyring } from '../../src/keys/postgres-keyring.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { startServer } from '../../src/server/start.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { get } from '../model/client.ts';
import { copyDatabase } from '../shared-servers.ts';
import { newMigratedDatabase } from '../storage.ts';

export interface Place {
  /** Options of a command. */
  readonly words: readonly string[];
  readonly options: { readonly data: string; readonly database?: string; readonly cache?: string };
}

export type PlaceKind = 'folder' | 'database';
export const PLACE_KINDS: readonly PlaceKind[] = ['folder', 'database'];

/** A place without data. */
export async function newPlace(kind: PlaceKind, folder: string): Promise<Place> {
  const data = join(folder, randomUUID());
  if (kind === 'folder') return folderPlace(data);
  return databasePlace(data, await newMigratedDatabase(), join(folder, 'cache'));
}

/** A copy of a place that no process uses. A place that is filled once serves many tests. */
export async function copyPlace({ options }: Place, folder: string): Promise<Place> {
  const data = join(folder, randomUUID());
  if (options.database === undefined) {
    cpSync(options.data, data, { recursive: true });
    return folderPlace(data);
  }
  // Not the cache of the original, whose versions get the same names.
  return databasePlace(data, await copyDatabase(options.database), `${data}-cache`);
}

/** Places with data, each filled when its kind is first wanted. */
export class FilledPlaces<Filled extends { readonly place: Place }> {
  readonly #folder: string;
  readonly #fill: (kind: PlaceKind) => Promise<Filled>;
  readonly #originals = new Map<PlaceKind, Promise<Filled>>();

  constructor(folder: string, fill: (kind: PlaceKind) => Promise<Filled>) {
    this.#folder = folder;
    this.#fill = fill;
  }

  /** For tests that only read it. */
  async original(kind: PlaceKind): Promise<Filled> {
    const filled = this.#originals.get(kind) ?? this.#fill(kind);
    this.#originals.set(kind, filled);
    return await filled;
  }

  /** In a place of its own, which the test may change. */
  async copy(kind: PlaceKind): Promise<Filled> {
    const original = await this.original(kind);
    return { ...original, place: await copyPlace(original.place, this.#folder) };
  }
}

function folderPlace(data: string): Place {
  return { words: ['--data', data], options: { data } };
}

function databasePlace(data: string, database: string, cache: string): Place {
  return {
    words: ['--database', database, '--cache', cache, '--data', data],
    options: { data, database, cache },
  };
}

export const PATHS = [
  ...['/a/v1/events', '/b/v1/events', '/a/v1/boards', '/b/v1/users', '/a/v1/events?limit=2'],
  ...['/a/v1/board/1/points', '/a/v1/events?format=csv', '/insights/v1/overview'],
];

/** Bodies, tags, cursors and tokens, as a server that starts now gives them. */
export async function responsesOf(place: Place, keys: readonly string[]): Promise<readonly string[]> {
  return await serving(place, async (url) => {
    const seen: string[] = [];
    for (const key of keys) {
      for (const path of PATHS) seen.push(await responseOf(url, path, key));
    }
    return seen;
  });
}

export async function responseOf(url: string, path: string, key: string): Promise<string> {
  const { status, headers, text } = await get(url + path, key);
  const fields = ['etag', 'link', 'sync-token'].map((name) => headers.get(name));
  return [path, status, ...fields, text.replace(/,"request_id":"[^"]+"/, '')].join(' ');
}

/** Runs `use` with the address of a server over the place. */
export async function serving<T>({ options }: Place, use: (url: string) => Promise<T>): Promise<T> {
  return await withPlace(options, false, async ({ store }) => {
    const { data, database } = options;
    const keyring =
      database === undefined ? openSqliteKeyring(data) : openPostgresKeyring(new PostgresDatabase(database));
    const listen = { host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' } as const;
    const server = await startServer({ ...listen, store, keyring });
    try {
      return await use(server.address);
    } finally {
      await server.stop();
      await keyring.close();
    }
  });
}
