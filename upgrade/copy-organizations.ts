/**
 * Copies organizations of version 0.1 into a store of this version, each whole or not at all. What
 * is there already is left as it is, so a copy that was stopped is simply run again.
 */
import { join } from 'node:path';
import type { DataPlace } from '../src/cli/process/storage.ts';
import { openCopyDisplay } from '../src/cli/terminal/copy-progress.ts';
import { remark } from '../src/cli/terminal/output.ts';
import type { Counts } from '../src/dataset/dataset.ts';
import { AppError } from '../src/domain/app-error.ts';
import type { CatalogEntry } from '../src/store/catalog/catalog.ts';
import type { PostgresDatabase } from '../src/store/catalog/postgres-database.ts';
import { unknownOrganization } from '../src/store/organization-name.ts';
import type { OrganizationEntry } from '../src/store/store.ts';
import type { CopiedTable } from '../src/store/version-tables.ts';
import { openTemporaryFolder } from '../src/system/temporary-folder.ts';
import { OldSnapshot, type OldTables } from './old-database.ts';
import { writeVersionFile } from './version-file.ts';

export interface CopyWishes {
  /** Absent: all. */
  readonly organization?: readonly string[];
  readonly keys: boolean;
}

export interface CopiedOrganization extends Counts {
  readonly organization: string;
  /** Absent where nothing is published. */
  readonly version: string | undefined;
  readonly keys: number;
  /** Whether there was an organization with data in the target, which was left as it is. */
  readonly skipped: boolean;
}

/** Where version 0.1 has its data, and where they go. */
export interface Move {
  readonly from: PostgresDatabase;
  readonly tables: OldTables;
  readonly to: DataPlace;
}

/** How long it waits for an import into the target to end. */
const WAIT_MS = 60_000;
const NOTHING: Counts = { events: 0, users: 0, boards: 0, pins: 0 };
const COUNTED: ReadonlySet<CopiedTable> = new Set(['events', 'users', 'boards', 'pins']);

/** What is refused is refused before anything is copied. */
export async function copyOrganizations(
  move: Move,
  { organization: wished, keys }: CopyWishes,
): Promise<readonly CopiedOrganization[]> {
  const old = await entriesOf(move);
  const names = new Set(wished?.map((name) => findEntry(old, name).name) ?? old.map(({ name }) => name));
  const held = await move.to.store.organizations();
  for (const entry of old.filter(({ name }) => names.has(name))) {
    if (!isThere(held, entry)) await move.to.store.checkFree(entry.name);
  }
  const copied: CopiedOrganization[] = [];
  for (const name of names) {
    const entry = findEntry(old, name);
    copied.push(isThere(held, entry) ? await skip(move, held, entry, keys) : await copyOne(move, name, keys));
  }
  return copied;
}

/** Drops the tables of version 0.1. Throws `organization-unknown` unless every organization in them has been copied. */
export async function dropTables(move: Move): Promise<void> {
  const held = await move.to.store.organizations();
  const missing = (await entriesOf(move)).filter((entry) => !isCopy(held, entry)).map(({ name }) => name);
  if (missing.length > 0) {
    throw new AppError(
      'organization-unknown',
      `The schema ${move.tables.schema} was kept, because the target has no copy of ${missing.join(', ')}. Copy all organizations, then run it again with --drop; or drop the schema yourself.`,
    );
  }
  await move.from.rows(`DROP SCHEMA ${move.tables.schema} CASCADE`);
}

async function entriesOf({ from, tables }: Move): Promise<readonly CatalogEntry[]> {
  const snapshot = await OldSnapshot.open(from, tables);
  try {
    return await snapshot.entries();
  } finally {
    await snapshot.close();
  }
}

/** The entry of this name, ignoring case. Throws `organization-unknown`. */
function findEntry<T extends OrganizationEntry>(entries: readonly T[], name: string): T {
  const found = findNamed(entries, name);
  if (found === undefined) throw unknownOrganization(name);
  return found;
}

function findNamed<T extends OrganizationEntry>(entries: readonly T[], name: string): T | undefined {
  return entries.find((entry) => entry.name.toLowerCase() === name.toLowerCase());
}

/** Whether the target has data of this name, or the copy of an organization without data. */
function isThere(held: readonly OrganizationEntry[], entry: OrganizationEntry): boolean {
  return findNamed(held, entry.name)?.version !== undefined || isCopy(held, entry);
}

/** Whether the target has the very organization, however it has gone on there: nobody else has its secret. */
function isCopy(held: readonly OrganizationEntry[], { name, secret }: OrganizationEntry): boolean {
  const found = findNamed(held, name);
  return found !== undefined && Buffer.compare(found.secret, secret) === 0;
}

async function skip(
  { from, tables, to }: Move,
  held: readonly OrganizationEntry[],
  old: CatalogEntry,
  keys: boolean,
): Promise<CopiedOrganization> {
  const { name, version } = findEntry(held, old.name);
  const skipped = { organization: name, version, ...NOTHING, skipped: true };
  if (!isCopy(held, old)) {
    remark(`${name}: skipped; the target has a different organization of this name, so nothing was copied.`);
    return { ...skipped, keys: 0 };
  }
  const snapshot = await OldSnapshot.open(from, tables);
  try {
    const copiedKeys = keys ? await copyKeys(snapshot, to, name) : 0;
    remark(`${name}: skipped; it is already in the target.`);
    return { ...skipped, keys: copiedKeys };
  } finally {
    await snapshot.close();
  }
}

async function copyOne({ from, tables, to }: Move, name: string, keys: boolean): Promise<CopiedOrganization> {
  const snapshot = await OldSnapshot.open(from, tables);
  try {
    // As of this snapshot: 0.1 may still be publishing where its tables are in their place.
    const entry = findEntry(await snapshot.entries(), name);
    // First: keys of an organization without data open nothing, data without keys would be a copy by half.
    const copiedKeys = keys ? await copyKeys(snapshot, to, entry.name) : 0;
    const counts = await copyVersion(snapshot, to, entry);
    return { organization: entry.name, version: entry.version, ...counts, keys: copiedKeys, skipped: false };
  } finally {
    await snapshot.close();
  }
}

/** Those that the target does not know; answers how many. */
async function copyKeys(snapshot: OldSnapshot, to: DataPlace, organization: string): Promise<number> {
  const held = new Set((await to.keys.all(organization)).map(({ id }) => id));
  const rows = (await snapshot.keys(organization)).filter(({ id }) => !held.has(id));
  await to.keys.take(rows);
  return rows.length;
}

async function copyVersion(snapshot: OldSnapshot, to: DataPlace, entry: CatalogEntry): Promise<Counts> {
  const version = await snapshot.version(entry);
  const options = {
    waitMs: WAIT_MS,
    onWait: () => remark(`Waiting for another change of ${entry.name} to finish.`),
  };
  if (version === undefined) {
    await to.store.adopt({ entry, file: undefined }, { ...options, onBytes: () => undefined });
    return NOTHING;
  }
  using folder = openTemporaryFolder();
  const path = join(folder.path, 'version.duckdb');
  const { counts } = version;
  const total = counts.events + counts.users + counts.boards + counts.pins;
  let done = 0;
  const reading = openCopyDisplay(entry.name, 'rows');
  try {
    await writeVersionFile(version, path, join(folder.path, 'spill'), (table, count) => {
      if (COUNTED.has(table)) done += count;
      reading.show(done, total, table);
    });
  } finally {
    reading.end();
  }
  // No transaction is held open while the file is on its way.
  await snapshot.close();
  const writing = openCopyDisplay(entry.name, 'bytes');
  const file = { path, spillFolder: join(folder.path, 'reading'), release: () => undefined };
  try {
    await to.store.adopt(
      { entry, file },
      { ...options, onBytes: (bytes, of) => writing.show(bytes, of, '') },
    );
  } finally {
    writing.end();
  }
  return counts;
}
