/**
 * The list of imported files of a followed folder, kept in the folder itself, one line per file
 * (decision 57). Without it the files would be imported again, which changes nothing but takes
 * time.
 */
import { createHash, hash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { hasCode } from '../../system/file-errors.ts';
import { type FileIdentity, openFound } from '../input/found-file.ts';
import { refuseFile } from '../input/refuse-file.ts';

/** The state of a file when it was imported. */
export interface FinishedFile {
  readonly name: string;
  readonly size: number;
  /** Time of the last change of the file. */
  readonly modifiedMs: number;
  /** SHA-256 of its bytes, in hexadecimal digits. */
  readonly digest: string;
}

export type Entry = Omit<FinishedFile, 'digest'>;

const IDENTITY_LENGTH = 16;

export class FinishedFiles {
  readonly #path: string;
  readonly #byName = new Map<string, FinishedFile>();
  readonly #digests = new Set<string>();

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * The list of one organization. Its file name is derived from the secret of the organization, so
   * that a different organization of the same name, also in a different store, has its own list. A
   * line left unfinished by a killed process is ignored. Throws `file-unreadable`.
   */
  static async open(folder: string, secret: Uint8Array): Promise<FinishedFiles> {
    const identity = hash('sha256', Buffer.concat([Buffer.from('followed '), secret])).slice(
      0,
      IDENTITY_LENGTH,
    );
    const files = new FinishedFiles(join(folder, `.corkboard-followed-${identity}.ndjson`));
    for (const line of (await files.#read()).split('\n')) {
      const file = parse(line);
      if (file !== undefined) files.#keep(file);
    }
    return files;
  }

  /** Whether the file is the same as when it was imported, judged without reading it. */
  hasEntry({ name, size, modifiedMs }: Entry): boolean {
    const file = this.#byName.get(name);
    return file?.size === size && file.modifiedMs === modifiedMs;
  }

  /** Whether a file with these bytes has been imported under any name. */
  hasDigest(digest: string): boolean {
    return this.#digests.has(digest);
  }

  /**
   * The entry is durable when the promise is fulfilled. Throws `option-malformed` when the folder
   * cannot be written to.
   */
  async add(file: FinishedFile): Promise<void> {
    this.#keep(file);
    try {
      const { O_WRONLY, O_APPEND, O_CREAT } = constants;
      const notes = await openNotes(this.#path, O_WRONLY | O_APPEND | O_CREAT);
      try {
        // Ends a line that a killed process may have left unfinished.
        await notes.appendFile(`\n${JSON.stringify(file)}\n`);
        await notes.sync();
      } finally {
        await notes.close();
      }
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new AppError(
        'option-malformed',
        `Cannot write to the folder${reason}. The list of imported files is kept in the folder itself.`,
        { cause: error },
      );
    }
  }

  /** The content of the list; empty if there is none yet. Throws `file-unreadable`. */
  async #read(): Promise<string> {
    try {
      const notes = await openNotes(this.#path, constants.O_RDONLY);
      try {
        return await notes.readFile('utf8');
      } finally {
        await notes.close();
      }
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return '';
      return refuseFile(this.#path, error);
    }
  }

  #keep(file: FinishedFile): void {
    this.#byName.set(file.name, file);
    this.#digests.add(file.digest);
  }
}

/**
 * Other users of the system may be able to write to the folder, so a link or a pipe in place of the
 * list is refused.
 */
async function openNotes(path: string, flags: number): Promise<FileHandle> {
  const notes = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  if ((await notes.stat()).isFile()) return notes;
  await notes.close();
  throw Object.assign(new Error('the notes are not a regular file'), { code: 'EFTYPE' });
}

function parse(line: string): FinishedFile | undefined {
  if (line === '') return undefined;
  try {
    const { name, size, modifiedMs, digest } = JSON.parse(line) as Partial<FinishedFile>;
    if (name === undefined || size === undefined || modifiedMs === undefined || digest === undefined)
      return undefined;
    return { name, size, modifiedMs, digest };
  } catch {
    return undefined;
  }
}

/**
 * SHA-256 of the bytes of a file, in hexadecimal digits; with an `identity`, only of this exact
 * file. Throws `file-unreadable`.
 */
export async function digestOf(path: string, identity?: FileIdentity): Promise<string> {
  const digest = createHash('sha256');
  try {
    const file = identity && (await openFound(path, identity));
    for await (const piece of file?.createReadStream() ?? createReadStream(path)) digest.update(piece);
  } catch (error) {
    refuseFile(path, error);
  }
  return digest.digest('hex');
}
