/**
 * Restores organizations from a backup: all of them, or none. Users who have been erased since the
 * backup are erased from the restored data as well, as far as the replaced data says so.
 */
import { join } from 'node:path';
import { AppError } from '../domain/app-error.ts';
import { FULL_SCOPE } from '../domain/scope.ts';
import type { KeyRows } from '../keys/key-row.ts';
import { openFolderStore } from '../store/files/open-folder.ts';
import type { CopyOptions, Original } from '../store/files/version-files.ts';
import type { VersionStore } from '../store/files/version-store.ts';
import { eraseUsers } from '../store/forgotten.ts';
import type { Store } from '../store/store.ts';
import { openTemporaryFolder } from '../system/temporary-folder.ts';
import type { OpenedBackup } from './opened-backup.ts';

export interface RestoreOptions extends CopyOptions {
  /** Only these; absent: all of the backup. */
  readonly organizations: readonly string[] | undefined;
  /** Whether organizations with data are replaced. */
  readonly replace: boolean;
  /** Removes data about the organizations outside the store, before they become current. */
  readonly removeOther: (organizations: readonly string[]) => Promise<void>;
}

export interface Restored {
  readonly organization: string;
  /** Absent if there is no data. */
  readonly version: string | undefined;
  readonly keys: number;
  /** Users who were erased from the data of the backup now. */
  readonly erased: readonly bigint[];
  /** False if the replaced data could not be read. */
  readonly knowsErased: boolean;
}

export interface RestoreTarget {
  readonly store: VersionStore;
  readonly keys: KeyRows;
}

interface Plan {
  readonly original: Original;
  /** Users who are erased in the replaced data; undefined if it cannot be read. */
  readonly forgotten: readonly bigint[] | undefined;
  readonly erased: readonly bigint[];
}

/** Throws `restore-refused` if the target has data, unless it may be replaced. */
export async function restore(
  backup: OpenedBackup,
  target: RestoreTarget,
  options: RestoreOptions,
): Promise<readonly Restored[]> {
  const names = await namesOf(backup, target, options);
  using folder = openTemporaryFolder();
  const scratch = await openFolderStore(join(folder.path, 'data'));
  const plans: Plan[] = [];
  try {
    for (const name of names) plans.push(await planOf(backup, scratch, target, name));
    const rows = await Promise.all(names.map((name) => backup.keys.all(name)));
    await target.store.adopt(
      plans.map(({ original }) => original),
      {
        ...options,
        async beforeCurrent() {
          for (const [at, name] of names.entries()) await refuseNews(target.store, name, plans[at]!);
          await options.removeOther(names);
          // Keys first: keys without data give access to nothing.
          await target.keys.take(rows.flat());
        },
      },
    );
    return plans.map(({ original: { entry }, forgotten, erased }, at) => ({
      ...{ organization: entry.name, version: entry.version, keys: rows[at]?.length ?? 0 },
      ...{ erased, knowsErased: forgotten !== undefined },
    }));
  } finally {
    for (const { original } of plans) original.file?.release();
    await scratch.close();
  }
}

/** The names as the backup has them. */
async function namesOf(
  backup: OpenedBackup,
  target: RestoreTarget,
  { organizations, replace }: RestoreOptions,
): Promise<readonly string[]> {
  const all = (await backup.store.organizations()).map(({ name }) => name);
  const entries = await Promise.all((organizations ?? all).map((name) => backup.store.organization(name)));
  const withData = (await target.store.organizations()).filter(({ version }) => version !== undefined);
  const isTaken = (name: string) => withData.some((one) => one.name.toLowerCase() === name.toLowerCase());
  // An organization without data replaces none that has some.
  const names = entries
    .filter(({ name, version }) => version !== undefined || !isTaken(name))
    .map(({ name }) => name);
  if (replace) return names;
  const taken =
    organizations === undefined
      ? withData.map(({ name }) => name)
      : entries.map(({ name }) => name).filter(isTaken);
  if (taken.length === 0) return names;
  throw new AppError(
    'restore-refused',
    `There is data already, of ${taken.join(', ')}; nothing was restored. Restore to an empty folder or database, choose organizations with --organization, or replace those of the backup with --replace.`,
  );
}

async function planOf(
  backup: OpenedBackup,
  scratch: VersionStore,
  target: RestoreTarget,
  name: string,
): Promise<Plan> {
  const forgotten = await forgottenIn(target.store, name).catch(() => undefined);
  const known = new Set(await forgottenIn(backup.store, name));
  const erased = (forgotten ?? []).filter((id) => !known.has(id));
  if (erased.length === 0) return { original: await backup.store.original(name), forgotten, erased };
  await backup.store.copyTo(scratch, name, { waitMs: 0, onBytes: () => undefined });
  await eraseUsers(scratch, name, erased, { waitMs: 0 });
  return { original: await scratch.original(name), forgotten, erased };
}

/** Ids of erased users, ascending. Throws `data-unreadable`. */
async function forgottenIn(store: Store, name: string): Promise<readonly bigint[]> {
  const isKnown = (await store.organizations()).some((entry) => entry.name === name);
  const dataset = isKnown ? await store.openDataset(name) : undefined;
  try {
    return (await dataset?.forgotten(FULL_SCOPE, 0)) ?? [];
  } finally {
    await dataset?.close();
  }
}

/** No publication can follow until the restored data is current. */
async function refuseNews(store: Store, name: string, { forgotten }: Plan): Promise<void> {
  if (forgotten === undefined) return;
  if ((await forgottenIn(store, name)).length === forgotten.length) return;
  throw new AppError(
    'organization-busy',
    `A user of ${name} was erased at the same time; nothing was restored. Run the command again.`,
  );
}
