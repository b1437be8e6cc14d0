/** The data folder that `--data` names: opens what lives in it for a command, and closes it whatever happens. */
import type { Store } from '../dataset/store.ts';
import type { Keyring } from '../keys/keyring.ts';
import { openSqliteKeyring } from '../keys/sqlite-keyring.ts';

export interface DataOption {
  readonly data: string;
}

/** The store of a data folder. */
export async function openStore(folder: string): Promise<Store> {
  // Loaded only when it is needed, like the server and the import, so that help and misuse answer at once.
  const { openDuckdbStore } = await import('../dataset/duckdb/store.ts');
  return openDuckdbStore(folder);
}

export interface ResidentOption {
  /** In bytes, for all workers together; absent: by the memory of the machine. */
  readonly residentLimit?: number;
}

/** The same store for a server, whose datasets are kept in memory as far as they fit into its share of the limit. */
export async function keepResident(
  store: Store,
  { residentLimit }: ResidentOption,
  workers: number,
): Promise<Store> {
  const { withResidentDatasets } = await import('../dataset/resident/store.ts');
  const { defaultResidentLimit } = await import('../dataset/resident/limit.ts');
  return withResidentDatasets(store, { limitBytes: (residentLimit ?? defaultResidentLimit()) / workers });
}

export async function withStore<T>(options: DataOption, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(options.data);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

export async function withKeyring<T>(options: DataOption, use: (keyring: Keyring) => Promise<T>): Promise<T> {
  const keyring = openSqliteKeyring(options.data);
  try {
    return await use(keyring);
  } finally {
    await keyring.close();
  }
}
