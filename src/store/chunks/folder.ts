/**
 * Chunks in a folder that several machines can share, over NFS for example. A chunk is a file
 * `<folder of the organization>/<file name>`. It gets its name when it is complete and on the disk,
 * so readers see all of it or nothing.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, open, opendir, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { synchronize } from '../../system/synchronize.ts';
import { assertChunkNames, assertChunkPrefix } from './chunk-name.ts';
import { CHUNK_NAME, type ChunkPlace } from './chunk-place.ts';

/** No name of a chunk contains a dot. */
const TEMPORARY_FILE = /^\..+\.temporary$/;
/** Longer than any upload, even if the clocks of the machines differ. */
const LEFTOVER_AGE_MS = 86_400_000;
const LIST_BATCH = 1000;
const DELETE_BATCH = 16;
/** NFS returns ESTALE when a different machine has replaced a file that is being read. */
const ATTEMPTS = 3;

const REFUSED: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'ELOOP']);
const AWAY: ReadonlySet<unknown> = new Set([
  ...['EIO', 'ESTALE', 'ETIMEDOUT', 'ENODEV', 'ENXIO', 'ENOTCONN', 'ECONNREFUSED', 'ECONNRESET'],
  ...['ECONNABORTED', 'EHOSTDOWN', 'EHOSTUNREACH', 'ENETDOWN', 'ENETUNREACH', 'EREMOTEIO', 'ESHUTDOWN'],
]);

/** Each file is synchronized separately, which many disks do in parallel. */
const PARALLEL = 8;

/**
 * `folder` must exist: creating it could hide that its file system is not mounted. The methods also
 * throw `data-unreadable` when the permissions of the folder do not suffice, and the system's error
 * when the disk is full.
 */
export function openChunkFolder(folder: string): ChunkPlace {
  return new ChunkFolder(folder);
}

class ChunkFolder implements ChunkPlace {
  readonly parallel = PARALLEL;
  readonly #folder: string;
  /** Folders of organizations whose names are durable. */
  readonly #synchronized = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    assertChunkNames([name]);
    const path = join(this.#folder, name);
    await translated(async () => {
      await this.#prepareFolder(dirname(path));
      await writeWhole(path, bytes);
      await synchronize(dirname(path));
    });
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    assertChunkNames([name]);
    return await this.#unlessAbsent(() => readFile(join(this.#folder, name)));
  }

  async *list(prefix: string): AsyncGenerator<readonly string[]> {
    assertChunkPrefix(prefix);
    const [organization = '', fileName] = prefix.split('/');
    const folders = fileName === undefined ? await this.#foldersThatBegin(organization) : [organization];
    for (const folder of folders) {
      for await (const entries of this.#entries(folder)) {
        await removeLeftovers(join(this.#folder, folder), entries);
        const names = entries
          .map((entry) => `${folder}/${entry}`)
          .filter((name) => name.startsWith(prefix) && CHUNK_NAME.test(name));
        if (names.length > 0) yield names;
      }
    }
  }

  async delete(names: readonly string[]): Promise<void> {
    assertChunkNames(names);
    for (let at = 0; at < names.length; at += DELETE_BATCH) {
      const batch = names.slice(at, at + DELETE_BATCH);
      await translated(() => Promise.all(batch.map((name) => rm(join(this.#folder, name), { force: true }))));
    }
    for (const folder of new Set(names.map((name) => dirname(name)))) {
      await this.#unlessAbsent(() => synchronize(join(this.#folder, folder)));
      for await (const entries of this.#entries(folder))
        await removeLeftovers(join(this.#folder, folder), entries);
    }
  }

  async dropFolder(folder: string): Promise<void> {
    assertChunkPrefix(`${folder}/`);
    const path = join(this.#folder, folder);
    for await (const entries of this.#entries(folder)) {
      for (const name of entries.filter((entry) => TEMPORARY_FILE.test(entry))) {
        await translated(() => rm(join(path, name), { force: true }));
      }
    }
    await this.#unlessAbsent(() => rmdir(path)).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
    });
    await translated(() => synchronize(this.#folder));
  }

  async close(): Promise<void> {}

  /**
   * Creates the folder of an organization, durably. An existing folder may have been created by a
   * process that has not synchronized it yet.
   */
  async #prepareFolder(folder: string): Promise<void> {
    const made = await mkdir(folder, { mode: 0o700 }).then(
      () => true,
      (error) => {
        if (codeOf(error) !== 'EEXIST') throw error;
        return false;
      },
    );
    if (!made && this.#synchronized.has(folder)) return;
    await synchronize(this.#folder);
    this.#synchronized.add(folder);
  }

  async #foldersThatBegin(prefix: string): Promise<string[]> {
    const entries = await translated(() => readdir(this.#folder, { withFileTypes: true }));
    return entries
      .filter((entry) => entry.isDirectory() && entry.name.startsWith(prefix))
      .map(({ name }) => name);
  }

  /** Names in the folder of an organization, in bounded batches; none if it does not exist. */
  async *#entries(folder: string): AsyncGenerator<readonly string[]> {
    const directory = await this.#unlessAbsent(() => opendir(join(this.#folder, folder)));
    if (directory === undefined) return;
    try {
      for (;;) {
        const entries: string[] = [];
        while (entries.length < LIST_BATCH) {
          const entry = await translated(() => directory.read());
          if (entry === null) break;
          entries.push(entry.name);
        }
        if (entries.length === 0) return;
        yield entries;
      }
    } finally {
      await directory.close();
    }
  }

  /**
   * Absent when something in the folder is missing. Throws `chunks-away` when the folder itself is.
   */
  async #unlessAbsent<T>(work: () => Promise<T>): Promise<T | undefined> {
    return await translated(async () => {
      try {
        return await work();
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error;
        await stat(this.#folder);
        return undefined;
      }
    });
  }
}

/** Writes the whole file or nothing, durably. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = join(dirname(path), `.${randomUUID()}.temporary`);
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // A file that cannot be removed either is a leftover.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Deletes temporary files of killed processes, except those that this process cannot delete. */
async function removeLeftovers(folder: string, entries: readonly string[]): Promise<void> {
  for (const entry of entries.filter((name) => TEMPORARY_FILE.test(name))) {
    const path = join(folder, entry);
    try {
      const { mtimeMs } = await stat(path);
      if (mtimeMs < Date.now() - LEFTOVER_AGE_MS) await rm(path);
    } catch {}
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Runs `work`, and replaces system errors of an unavailable folder by an `AppError`. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (cause) {
      const code = codeOf(cause);
      if (code === 'ESTALE' && attempt < ATTEMPTS) continue;
      if (code === 'ENOENT')
        throw new AppError(
          'chunks-away',
          'The folder for chunks does not exist. Create it, or check that its file system is mounted.',
          { cause },
        );
      if (AWAY.has(code))
        throw new AppError('chunks-away', 'The folder for chunks cannot be reached. Try again in a moment.', {
          cause,
        });
      if (REFUSED.has(code))
        throw new AppError(
          'data-unreadable',
          'Access to the folder for chunks is denied. Check that it is a folder that this user can read and write.',
          { cause },
        );
      throw cause;
    }
  }
}
