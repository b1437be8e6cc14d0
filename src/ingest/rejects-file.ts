/** The file of rejects, with every invalid record of an import (decision 30). */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { AppError } from '../domain/app-error.ts';
import { outputPlace } from '../system/output-file.ts';

const OPTION = 'the file of --skip-invalid';
const BUFFERED_LINES = 1000;
const LINE_FEED = 10;

export interface RejectsOptions {
  /** Whether lines are appended to a file that exists. */
  readonly adds?: boolean | undefined;
  /** Checks the place, and writes nothing. */
  readonly dryRun?: boolean | undefined;
}

/**
 * A file that is built under a temporary name. Only when it is complete, it replaces the file at
 * its path, or is appended to it. A device or a pipe is written into.
 */
export class RejectsFile implements AsyncDisposable {
  readonly #path: string;
  /** Undefined: the lines are written to the path itself. */
  readonly #unfinishedPath: string | undefined;
  /** Undefined: they are not written. */
  readonly #file: FileHandle | undefined;
  readonly #adds: boolean;
  #lines: string[] = [];

  private constructor(
    path: string,
    unfinishedPath: string | undefined,
    file: FileHandle | undefined,
    adds: boolean,
  ) {
    this.#path = path;
    this.#unfinishedPath = unfinishedPath;
    this.#file = file;
    this.#adds = adds;
  }

  /** Throws `option-malformed` when the file cannot be written. */
  static async open(path: string, { adds = false, dryRun = false }: RejectsOptions): Promise<RejectsFile> {
    const place = await outputPlace(OPTION, path);
    if (dryRun) return new RejectsFile(place.path, undefined, undefined, adds);
    const unfinished = place.isStream ? undefined : `${place.path}.${randomBytes(4).toString('hex')}.tmp`;
    try {
      const file = await open(unfinished ?? place.path, unfinished === undefined ? 'a' : 'wx', 0o600);
      return new RejectsFile(place.path, unfinished, file, adds);
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new AppError('option-malformed', `Cannot write ${OPTION}, ${path}${reason}.`, { cause: error });
    }
  }

  add(line: string): void {
    if (this.#file !== undefined) this.#lines.push(line);
  }

  /** Writes the buffered lines if there are many. */
  async relieve(): Promise<void> {
    if (this.#lines.length >= BUFFERED_LINES) await this.#write();
  }

  async finish(): Promise<void> {
    await this.#write();
    if (this.#file === undefined || this.#unfinishedPath === undefined) return;
    await this.#file.sync();
    await this.#file.close();
    if (this.#adds) await addTo(this.#path, this.#unfinishedPath);
    else await rename(this.#unfinishedPath, this.#path);
  }

  /** Removes a file that was not finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close().catch(() => {});
    if (this.#unfinishedPath !== undefined) await rm(this.#unfinishedPath, { force: true });
  }

  async #write(): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    for (let at = 0; at < lines.length; at += BUFFERED_LINES)
      await this.#file?.appendFile(lines.slice(at, at + BUFFERED_LINES).join(''));
  }
}

/**
 * Appends the lines of a file to another, which is created if necessary. Completes a last line that
 * a killed process left unfinished.
 */
async function addTo(path: string, more: string): Promise<void> {
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    if (size > 0 && last[0] !== LINE_FEED) await file.appendFile('\n');
    for await (const piece of createReadStream(more)) await file.appendFile(piece);
    await file.sync();
  } finally {
    await file.close();
  }
}
