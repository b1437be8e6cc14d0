/**
 * Copies organizations of Corkboard 0.1 into a store of this release, each completely or not at
 * all. Organizations that the target already has stay unchanged, so an interrupted copy can be run
 * again.
 */
import { join } from 'node:path';
import type { DataPlace } from '../src/cli/process/storage.ts';
import { openCopyDisplay } from '../src/cli/terminal/copy-progress.ts';
import { remark } from '../src/cli/terminal/output.ts';
import type { Counts } from '../src/dataset/dataset.ts';
import { AppError } from '../src/domain/app-error.ts';
import type { CatalogEntry } from '../src/store/catalog/catalog.ts';
import type { PostgresDatabase } from '../src/store/catalog/postgres-database.ts';
import { checkReplaceable, unknownOrganization } from '../src/store/organization-name.ts';
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
  /** Undefined if nothing is published. */
  readonly version: string | undefined;
  readonly keys: number;
  /** Whether the target already had the organization, which then stays unchanged. */
  readonly skipped: boolean;
}

/** The source of the data, a database of Corkboard 0.1, and the target. */
export interface Move {
  readonly from: PostgresDatabase;
  readonly tables: OldTables;
  readonly to: DataPlace;
}

/** How long the copy waits for an import into the target to end. */
const WAIT_MS = 60_000;
const NOTHING: Counts = { events: 0, users: 0, boards: 0, pins: 0 };
const COUNTED: ReadonlySet<CopiedTable> = new Set(['events', 'users', 'boards', 'pins']);

/**
 * Copies the organizations one after the other. Before the first copy, throws if an organization is
 * unknown or its name is taken in the target.
 */
export async function copyOrganizations(
  move: Move,
  { organization: wished, keys }: CopyWishes,
): Promise<readonly CopiedOrganization[]> {
  const old = await entriesOf(move);
  const names = new Set(wished?.map((name) => findEntry(old, name).name) ?? old.map(({ name }) => name));
  const held = await move.to.store.organizations();
  for (const entry of old.filter(({ name }) => names.has(name))) {
    if (!isThere(held, entry)) checkReplaceable(await move.to.store.replacedBy(entry));
  }
  const copied: CopiedOrganization[] = [];
  for (const name of names) {
    const entry = findEntry(old, name);
    copied.push(isThere(held, entry) ? await skip(move, held, entry, keys) : await copyOne(move, name, keys));
  }
  return copied;
}

/**
 * Drops the tables of Corkboard 0.1. Throws `organization-unknown` unless all organizations in them
 * have been copied.
 */
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

/** Whether the target has an organization of this name with data, or a copy of this one. */
function isThere(held: readonly OrganizationEntry[], entry: OrganizationEntry): boolean {
  return findNamed(held, entry.name)?.version !== undefined || isCopy(held, entry);
}

/**
 * Whether the target has a copy of this organization, even if the copy has changed since. The
 * secret identifies the organization. A copy that was killed can leave it without data.
 */
function isCopy(held: readonly OrganizationEntry[], { name, secret, version }: OrganizationEntry): boolean {
  const found = findNamed(held, name);
  if (found === undefined || Buffer.compare(found.secret, secret) !== 0) return false;
  return found.version !== undefined || version === undefined;
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
    // Read in this snapshot, because Corkboard 0.1 may still publish if its tables are in place.
    const entry = findEntry(await snapshot.entries(), name);
    // Keys first: keys without data give access to nothing, but data without keys is half a copy.
    const copiedKeys = keys ? await copyKeys(snapshot, to, entry.name) : 0;
    const counts = await copyVersion(snapshot, to, entry);
    return { organization: entry.name, version: entry.version, ...counts, keys: copiedKeys, skipped: false };
  } finally {
    await snapshot.close();
  }
}

/** Copies the keys that the target does not have; returns their number. */
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
    await to.store.adopt([{ entry, file: undefined }], { ...options, onBytes: () => undefined });
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
  // No transaction stays open while the file is written to the target.
  await snapshot.close();
  const writing = openCopyDisplay(entry.name, 'bytes');
  try {
    await to.store.adopt([{ entry, file: { path } }], {
      ...options,
      onBytes: (bytes, of) => writing.show(bytes, of, ''),
    });
  } finally {
    writing.end();
  }
  return counts;
}
