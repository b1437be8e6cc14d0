/**
 * The folder in which `pull` keeps what it has got for an organization; one command at a time uses
 * it.
 */
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkOrganizationName } from '../../store/organization-name.ts';
import type { PublicationOptions } from '../../store/store.ts';

/**
 * Throws `organization-busy` when another command uses the folder for longer than is waited, and
 * `organization-malformed`.
 */
export async function withPullFolder<T>(
  data: string,
  organization: string,
  options: PublicationOptions,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const { folder, lock } = placesOf(data, organization);
  // Earlier versions kept their locks as `<organization>.lock`, which is the name of another
  // organization's folder.
  if ((await stat(folder).catch(() => undefined))?.isFile()) await rm(folder, { force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { lockFile } = await import('../../store/files/file-lock.ts');
  // The system ends it with the process.
  const release = await lockFile(lock, options);
  try {
    return await use(folder);
  } finally {
    release();
  }
}

/**
 * Does something while no pull of the organization is under way. `use` gets a function that removes
 * all that pulls have kept of it. Throws as `withPullFolder`.
 */
export async function withoutPulls<T>(
  data: string,
  organization: string,
  options: PublicationOptions,
  use: (removeKept: () => Promise<void>) => Promise<T>,
): Promise<T> {
  // Where nothing was ever pulled, not even the data folder may be there.
  if (!(await isFolder(placesOf(data, organization).folder))) return await use(async () => {});
  return await withPullFolder(data, organization, options, (folder) =>
    use(() => rm(folder, { recursive: true, force: true })),
  );
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/**
 * No organization has a name that begins with a full stop, and none two that differ in case alone.
 */
function placesOf(data: string, organization: string) {
  checkOrganizationName(organization);
  const name = organization.toLowerCase();
  const folders = join(data, '.pull');
  return { folder: join(folders, name), lock: join(folders, `.${name}.lock`) };
}
