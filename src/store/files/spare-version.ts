/**
 * A copy of the current version that the next publication changes, so that it need not copy all
 * data. It is made of a version that is not kept any longer: only the chunks that differ are
 * written (decision 89).
 *
 *     <digest of the manifest of the current version>.spare
 */
import { hash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { access, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { synchronize } from '../../system/synchronize.ts';
import { writeWhole } from '../../system/write-whole.ts';
import { type ChunkDigests, differingChunks } from '../chunks/chunk-digests.ts';
import { chunkSpan, readChunk } from '../chunks/manifest.ts';
import { isOpenElsewhere } from '../version/publish/open-elsewhere.ts';
import { encodeDigests, readChunkDigests } from './recorded-digests.ts';
import { withoutReaders } from './version-readers.ts';

/** Smaller versions are copied within a tenth of a second. */
export const LEAST_SPARE_BYTES = 64e6;
const SPARE = /\.spare$/;

export class SpareVersion {
  readonly #folder: string;
  readonly #leastBytes: number;

  /** `leastBytes`: size of a version from which on it has a spare. */
  constructor(folder: string, leastBytes: number) {
    this.#folder = folder;
    this.#leastBytes = leastBytes;
  }

  /** Whether versions of this size have one. Readers of such versions must be registered. */
  isFor(bytes: number): boolean {
    return bytes >= this.#leastBytes;
  }

  /** The path where readers of a version are registered. */
  readers(publication: number): string {
    return join(this.#folder, `${publication}.readers`);
  }

  /** The name of the spare of a version. Absent if it cannot have one. */
  async nameFor(publication: number): Promise<string | undefined> {
    const digests = await this.#digests(publication);
    return digests && nameOf(digests);
  }

  /** Moves the spare of a version to `target`, and returns whether there was one to change. */
  async take(publication: number, target: string): Promise<boolean> {
    const name = await this.nameFor(publication);
    if (name === undefined || !existsSync(join(this.#folder, name))) return false;
    return await this.#withdraw(join(this.#folder, name), target);
  }

  /**
   * Turns the file of a version that is not kept any longer into the spare of the current one,
   * unless anything reads it. `partial`: path of the unfinished spare. If it fails, the file is
   * gone or as it was.
   */
  async make(retired: number, current: number, partial: string): Promise<void> {
    const [held, wanted] = [await this.#digests(retired), await this.#digests(current)];
    const file = join(this.#folder, `${retired}.duckdb`);
    if (held === undefined || wanted === undefined || !this.isFor(wanted.bytes)) return;
    try {
      // Under its name nothing opens it.
      const isFree = await withoutReaders(this.readers(retired), () => this.#withdraw(file, partial));
      if (isFree !== true || (await isOpenElsewhere(partial))) return;
      await writeChunks(partial, join(this.#folder, `${current}.duckdb`), held, wanted);
      await synchronize(partial);
      await rename(partial, join(this.#folder, nameOf(wanted)));
      await synchronize(this.#folder);
    } finally {
      await rm(partial, { force: true });
    }
  }

  /**
   * Takes away the name of a file that is to be changed, durably: after a power failure, nothing
   * changed may have that name. Returns whether it can be changed; otherwise it is gone.
   */
  async #withdraw(file: string, target: string): Promise<boolean> {
    await rename(file, target);
    await synchronize(this.#folder);
    // Backup programs and renaming add links to a file, which must not change then. A command of a
    // different user may have written it.
    const isOurs =
      (await stat(target)).nlink === 1 &&
      (await access(target, constants.W_OK).then(
        () => true,
        () => false,
      ));
    if (!isOurs) await rm(target);
    return isOurs;
  }

  /** Deletes all spares but that of the given version. */
  async drop(except?: number): Promise<void> {
    const kept = except === undefined ? undefined : await this.nameFor(except);
    for (const name of await readdir(this.#folder)) {
      if (SPARE.test(name) && name !== kept) await rm(join(this.#folder, name), { force: true });
    }
  }

  async #digests(publication: number): Promise<ChunkDigests | undefined> {
    // Damaged ones are found by `check`; without them the next publication copies all data.
    return await readChunkDigests(this.#folder, publication).catch(() => undefined);
  }
}

/** The name depends on the content, because numbers are used again after a restore. */
function nameOf(digests: ChunkDigests): string {
  return `${hash('sha256', encodeDigests(digests)).slice(0, 32)}.spare`;
}

async function writeChunks(
  target: string,
  source: string,
  held: ChunkDigests,
  { bytes, digests }: ChunkDigests,
): Promise<void> {
  await using from = await open(source, 'r');
  await using to = await open(target, 'r+');
  await to.truncate(bytes);
  for (const index of differingChunks(digests, held.digests)) {
    await writeWhole(to, await readChunk(from, index, bytes), chunkSpan(index, bytes).start);
  }
}
