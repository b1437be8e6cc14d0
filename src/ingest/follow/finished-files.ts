/**
 * The files of a followed folder that have been imported, remembered in the folder itself, a line each (decision 57).
 * Without this memory they would be imported again, which changes nothing but takes its time.
 */
import { createHash, hash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { type FileIdentity, openFound } from '../input/found-file.ts';
import { refuseFile } from '../input/refuse-file.ts';

/** A file as it was when it was imported. */
export interface FinishedFile {
  readonly name: string;
  readonly size: number;
  /** When it was last written to. */
  readonly modifiedMs: number;
  /** SHA-256 of its bytes. */
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
   * Of an organization, by its secret, so that another one of the same name, or in another store, has its own. A line that a
   * killed process has left unfinished says nothing. Throws `file-unreadable`.
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

  /** Whether it is the same as when it was imported, as far as can be told without reading it. */
  hasEntry({ name, size, modifiedMs }: Entry): boolean {
    const file = this.#byName.get(name);
    return file?.size === size && file.modifiedMs === modifiedMs;
  }

  /** Whether these bytes have been imported, under whatever name. */
  hasDigest(digest: string): boolean {
    return this.#digests.has(digest);
  }

  /** Durable when the promise is fulfilled. Throws `option-malformed` when the folder cannot be written to. */
  async add(file: FinishedFile): Promise<void> {
    this.#keep(file);
    try {
      const { O_WRONLY, O_APPEND, O_CREAT } = constants;
      const notes = await openNotes(this.#path, O_WRONLY | O_APPEND | O_CREAT);
      try {
        // A process that was killed may have left half a line, which ends here.
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

  /** Nothing when there are no notes yet. */
  async #read(): Promise<string> {
    try {
      const notes = await openNotes(this.#path, constants.O_RDONLY);
      try {
        return await notes.readFile('utf8');
      } finally {
        await notes.close();
      }
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
      return refuseFile(this.#path, error);
    }
  }

  #keep(file: FinishedFile): void {
    this.#byName.set(file.name, file);
    this.#digests.add(file.digest);
  }
}

/** Others may write to the folder: a link or a pipe in the place of the notes is refused. */
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
 * SHA-256 of the bytes of a file, in hexadecimal digits; with an `identity`, of this very file
 * alone. Throws `file-unreadable`.
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
