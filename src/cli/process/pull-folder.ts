/**
 * The folder in which `pull` keeps its progress and results for an organization. Only one command
 * uses it at a time. A file beside it says whose it is: the organization of this name can be a
 * different one by the next pull, or have a different name.
 */
import { existsSync } from 'node:fs';
import { rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkOrganizationName } from '../../store/organization-name.ts';
import type { PublicationOptions } from '../../store/store.ts';
import { namesIn, readIfExists } from '../../system/if-exists.ts';
import { makeFolder } from '../../system/make-folder.ts';
import { refuseReadOnly } from '../../system/read-only.ts';

const OWNER = /^\.(.+)\.owner$/;

/**
 * Throws `organization-busy` if a different command uses the folder for longer than
 * `options.waitMs`, `organization-malformed`, and `settings-refused` if the data folder can only be
 * read.
 */
async function withPullFolder<T>(
  data: string,
  organization: string,
  options: PublicationOptions,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  refuseReadOnly(data);
  const { folder, lock, owner } = placesOf(data, organization);
  // Earlier versions of Corkboard had a lock file `<organization>.lock`. A different organization
  // can have that name for its folder.
  if ((await stat(folder).catch(() => undefined))?.isFile()) await rm(folder, { force: true });
  makeFolder(folder);
  // The operating system releases the lock when the process ends.
  const release = await lockPulls(lock, options);
  try {
    return await use(folder);
  } finally {
    await rmdir(folder).catch(() => undefined);
    // Its name is the one of an organization that may have been removed.
    if (!(await isFolder(folder))) for (const path of [owner, lock]) await rm(path, { force: true });
    release();
  }
}

/**
 * Like `withPullFolder`, for a pull. `findOwner` returns the digest of the organization that has
 * the name, or undefined if there is none. What was kept for a different one is deleted first.
 */
export async function withOwnPullFolder<T>(
  data: string,
  organization: string,
  options: PublicationOptions & { readonly findOwner: () => Promise<string | undefined> },
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const { owner } = placesOf(data, organization);
  return await withPullFolder(data, organization, options, async (folder) => {
    const keptFor = await readOwner(owner);
    if (keptFor !== undefined && keptFor !== (await options.findOwner())) {
      for (const name of await namesIn(folder)) await rm(join(folder, name), { recursive: true });
    }
    const result = await use(folder);
    const present = await options.findOwner();
    if (present !== undefined) await writeFile(owner, present, { mode: 0o600 });
    return result;
  });
}

/** Undefined if it is not known: earlier versions of Corkboard did not record it. */
async function readOwner(path: string): Promise<string | undefined> {
  return (await readIfExists(path))?.toString();
}

/** The names under which pulls keep files for the organization with this digest. */
export async function pullsOf(data: string, digest: string): Promise<readonly string[]> {
  const folders = join(data, '.pull');
  const names: string[] = [];
  for (const file of await namesIn(folders)) {
    const name = OWNER.exec(file)?.[1];
    if (name !== undefined && (await readOwner(join(folders, file))) === digest) names.push(name);
  }
  return names;
}

async function lockPulls(lock: string, options: PublicationOptions): Promise<() => void> {
  const { LockFileGone, lockFile } = await import('../../store/files/file-lock.ts');
  for (;;) {
    try {
      return await lockFile(lock, options);
    } catch (error) {
      // A command that has deleted the files of pulls has deleted the lock as well.
      if (!(error instanceof LockFileGone)) throw error;
      makeFolder(dirname(lock));
    }
  }
}

/**
 * Runs `use` while no pull of the organization runs. `use` gets a function that deletes the files
 * that pulls keep for the organization. Throws as `withPullFolder` does.
 */
export async function withoutPulls<T>(
  data: string,
  organization: string,
  options: PublicationOptions,
  use: (removeKept: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { folder: kept, lock } = placesOf(data, organization);
  // Before the first pull, even the data folder may not exist.
  if (!(await isFolder(kept)) && !existsSync(lock)) return await use(async () => {});
  return await withPullFolder(data, organization, options, (folder) =>
    use(() => rm(folder, { recursive: true, force: true })),
  );
}

/** Deletes the files that pulls keep for these organizations. Throws as `withPullFolder` does. */
export async function removePulls(
  data: string,
  organizations: readonly string[],
  options: PublicationOptions,
): Promise<void> {
  for (const name of organizations) {
    await withoutPulls(data, name, options, (removeKept) => removeKept());
  }
}

/** For data of pulls whose organization gets a new name. */
export interface PullRenaming {
  /**
   * Deletes what an organization that had the new name has left. Before the organization has that
   * name: it would be taken for its own.
   */
  readonly removeOther: () => Promise<void>;
  /** Has no effect if it was done before. */
  readonly rename: () => Promise<void>;
}

/**
 * Runs `use` while no pull of the organization runs. Throws as `withPullFolder` does.
 */
export async function withRenamedPulls<T>(
  data: string,
  organization: string,
  newName: string,
  options: PublicationOptions,
  use: (pulls: PullRenaming) => Promise<T>,
): Promise<T> {
  const [{ folder: from, owner }, { folder: to, owner: newOwner }] = [
    placesOf(data, organization),
    placesOf(data, newName),
  ];
  // The case of a name does not matter here.
  const nothing = async () => {};
  if (from === to) return await use({ removeOther: nothing, rename: nothing });
  return await withoutPulls(data, organization, options, () =>
    withoutPulls(data, newName, options, (removeOther) =>
      use({
        removeOther,
        async rename() {
          if (!(await isFolder(from))) return;
          await rm(to, { recursive: true, force: true });
          // First, so that what is kept is never taken for that of a different organization.
          const keptFor = await readOwner(owner);
          if (keptFor !== undefined) await writeFile(newOwner, keptFor, { mode: 0o600 });
          await rename(from, to);
        },
      }),
    ),
  );
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/**
 * Paths cannot collide: names of organizations never begin with a full stop, and no two names
 * differ only in case.
 */
function placesOf(data: string, organization: string) {
  checkOrganizationName(organization);
  const name = organization.toLowerCase();
  const folders = join(data, '.pull');
  return {
    folder: join(folders, name),
    lock: join(folders, `.${name}.lock`),
    owner: join(folders, `.${name}.owner`),
  };
}
