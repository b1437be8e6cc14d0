/**
 * A store of either kind, from and to which organizations are copied, and everything that can be
 * read of an organization there.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DataPlace, withPlace } from '../../src/cli/process/storage.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { TimeRange } from '../../src/dataset/query.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import type { Keyring } from '../../src/keys/keyring.ts';
import { startServer } from '../../src/server/start.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type CopiedRows, TABLE_NAMES } from '../../src/store/version-tables.ts';
import { IS_LONG } from '../long.ts';
import type { ParsedRequest, Variant } from '../model/answers.ts';
import { type Bundle, writeBundle } from '../model/bundle.ts';
import { get, nextOf, urlPathOf } from '../model/client.ts';
import { loadFiles } from '../model/deployment.ts';
import { openStorage, type StorageKind } from '../storage.ts';

/** More than any test needs. */
const RESIDENT_LIMIT_BYTES = 1e9;

export interface Station {
  readonly store: Store;
  /** The store with datasets in memory, as a server reads it by default. */
  readonly served: Store;
  readonly keyring: Keyring;
  /** Runs `use` with the address of a server over the store. */
  serving<T>(use: (url: string) => Promise<T>): Promise<T>;
  load(organization: string, bundle: Bundle): Promise<void>;
  asPlace<T>(use: (place: DataPlace) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function openStation(kind: StorageKind): Promise<Station> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-station-'));
  const storage = await openStorage(kind, folder);
  const { store, keyring } = storage;
  const served = withResidentDatasets(store, { limitBytes: RESIDENT_LIMIT_BYTES });
  const [option, value = '', , cache = ''] = storage.words;
  const place = option === '--data' ? { data: value } : { data: '', database: value, cache };
  let bundles = 0;
  return {
    ...{ store, served, keyring },
    async serving(use) {
      const listen = { host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' } as const;
      const server = await startServer({ ...listen, store: served, keyring });
      try {
        return await use(server.address);
      } finally {
        await server.stop();
      }
    },
    async load(organization, bundle) {
      bundles += 1;
      const files = join(folder, `bundle-${bundles}`);
      await writeBundle(files, bundle, 'ndjson');
      await loadFiles(store, organization, [files]);
    },
    asPlace: (use) => withPlace(place, false, use),
    async close() {
      await storage.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Makes an organization without data derive its ids as before there were keyed ids. */
export async function makePlain({ store, asPlace }: Station, name: string): Promise<void> {
  const present = await store.organization(name);
  const unusual = { derivedIds: 'plain', rules: { longestKeyLifeMs: 2e9 } } as const;
  const entry = { ...present, ...unusual, publication: undefined };
  await asPlace((place) =>
    place.store.adopt([{ entry, file: undefined }], { waitMs: 0, onBytes: () => undefined }),
  );
}

export interface Asked {
  readonly keys: readonly string[];
  readonly questions: readonly ParsedRequest[];
  readonly ways: readonly (readonly [Variant, TimeRange])[];
}

/**
 * Everything that clients see: responses, tags, and pages of two with their cursors. Outside of
 * long runs the keys share the questions.
 */
export async function answersOf(station: Station, { keys, questions, ways }: Asked): Promise<string[]> {
  const paths = ways.flatMap(([variant, range]) =>
    questions.flatMap((one) => urlPathOf(variant, one, range) ?? []),
  );
  return await station.serving(async (url) => {
    const seen: string[] = [];
    const see = async (path: string, key: string) => {
      const reply = await get(url + path, key);
      const body = reply.text.replace(/,"request_id":"[^"]+"/, '');
      seen.push(`${path} ${reply.status} ${reply.headers.get('etag')} ${body}`);
      return nextOf(reply);
    };
    for (const [turn, key] of keys.entries()) {
      const own = paths.filter((_, at) => IS_LONG || at % keys.length === turn);
      for (const path of own) await see(path, key);
      let next: string | undefined = '/a/v1/events?limit=2';
      while (next !== undefined) next = await see(next, key);
    }
    return seen;
  });
}

/** Every stored row, including the secret and the keys. */
export async function contentsOf(station: Station, organization: string) {
  return await station.asPlace(async ({ store, keys }) => {
    const version = await store.openRows(organization);
    const { name, settings, secret, derivedIds, rules, version: tag } = version.entry;
    const tables: Record<string, unknown> = {};
    if (version.counts !== undefined)
      for (const table of TABLE_NAMES) tables[table] = await rowsOf(version.rows(table));
    await version.close();
    const kept = (await keys.all(name)).map((row) => ({
      ...row,
      digest: Buffer.from(row.digest).toString('hex'),
    }));
    return {
      entry: {
        ...{ name, settings, secret: Buffer.from(secret).toString('hex') },
        ...{ derivedIds, rules, version: tag },
      },
      counts: version.counts,
      tables,
      keys: kept,
    };
  });
}

async function rowsOf(runs: AsyncIterable<CopiedRows>): Promise<string[]> {
  const rows: string[] = [];
  for await (const { count, columns } of runs) {
    for (let row = 0; row < count; row += 1) {
      rows.push(
        columns
          .map(({ values, present }) => (present?.[row] === 0 ? 'none' : JSON.stringify(String(values[row]))))
          .join(' '),
      );
    }
  }
  return rows;
}

/** The ledger of every user on every board. */
export async function ledgersOf(station: Station, organization: string): Promise<unknown[]> {
  const dataset: Dataset | undefined = await station.served.openDataset(organization);
  if (dataset === undefined) return [];
  const ledgers: unknown[] = [];
  for (let board = 0; board < dataset.counts.boards; board += 1) {
    for (let user = 0; user < dataset.counts.users; user += 1)
      ledgers.push(await dataset.ledger({ scope: FULL_SCOPE, board, user }));
  }
  await dataset.close();
  return ledgers;
}
