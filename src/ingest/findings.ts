/**
 * Collects the problems of an import: the first ones for the report, the number of all, and with
 * `--skip-invalid` every one of them in the file of rejects (decision 30).
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { AppError } from '../domain/app-error.ts';
import { escapeLineEnds } from '../domain/json-text.ts';
import { shortened } from '../domain/shortened-text.ts';
import type { StagedProblem } from '../store/staging.ts';
import { decodePlace } from './records/record-place.ts';

/** An invalid record, or, with line 0, an invalid file. Texts of the file are shortened. */
export interface ReportedProblem {
  /** The name of the file as the user gave it. */
  readonly file: string;
  readonly line: number;
  /** Position in the array of a JSON file, from 1, if several records begin on the line. */
  readonly index?: number | undefined;
  /** The field as written in the file; empty when the whole record is invalid. */
  readonly field: string;
  readonly reason: string;
}

interface FindingsOptions {
  readonly linesBefore?: number | undefined;
  /** Called for each problem, also for those after the first hundred. */
  readonly onProblem?: ((problem: ReportedProblem) => void) | undefined;
}

const REPORTED = 100;
/** Enough for a hundred findings about unknown fields, each of which lists all fields. */
const REPORTED_CHARACTERS = 65_536;
const LONGEST_REASON = 1000;
const BUFFERED_LINES = 1000;

export class Findings {
  /** The first hundred, or fewer if their texts are long. */
  readonly first: ReportedProblem[] = [];
  count = 0;
  readonly #names: readonly string[];
  readonly #rejects: RejectsFile | undefined;
  readonly #linesBefore: number;
  readonly #onProblem: ((problem: ReportedProblem) => void) | undefined;
  /** Characters in `first`. */
  #characters = 0;

  /**
   * `names` are the names of the inputs; a problem refers to one by its index. `linesBefore` is the
   * number of lines of each input that earlier imports read; it is added to line numbers.
   */
  constructor(
    names: readonly string[],
    rejects: RejectsFile | undefined,
    { linesBefore = 0, onProblem }: FindingsOptions = {},
  ) {
    this.#names = names;
    this.#rejects = rejects;
    this.#linesBefore = linesBefore;
    this.#onProblem = onProblem;
  }

  add({ file, line: place, field, reason, raw }: StagedProblem): void {
    const { line: ownLine, index } = decodePlace(place);
    const line = ownLine === 0 ? 0 : this.#linesBefore + ownLine;
    const where = { file: this.#names[file] ?? '', line, ...(index !== undefined && { index }) };
    const written = { ...where, field, reason };
    const problem = { ...written, field: shortened(field), reason: shortened(reason, LONGEST_REASON) };
    this.count += 1;
    this.#report(problem);
    this.#onProblem?.(problem);
    this.#rejects?.add(`${escapeLineEnds(JSON.stringify({ ...written, record: raw ?? '' }))}\n`);
  }

  #report(problem: ReportedProblem): void {
    if (this.first.length >= REPORTED || this.#characters >= REPORTED_CHARACTERS) return;
    this.first.push(problem);
    this.#characters += problem.file.length + problem.field.length + problem.reason.length;
  }

  /** Writes the buffered rejects to the file if there are many. */
  async relieve(): Promise<void> {
    await this.#rejects?.relieve();
  }
}

/**
 * A file that is built under a temporary name. Only when it is complete, it replaces the file at
 * `path`, or is appended to it.
 */
export class RejectsFile implements AsyncDisposable {
  readonly #path: string;
  readonly #unfinishedPath: string;
  readonly #file: FileHandle;
  readonly #isAdded: boolean;
  #lines: string[] = [];

  private constructor(path: string, unfinishedPath: string, file: FileHandle, isAdded: boolean) {
    this.#path = path;
    this.#unfinishedPath = unfinishedPath;
    this.#file = file;
    this.#isAdded = isAdded;
  }

  /** Throws `option-malformed` when the file cannot be written. */
  static async open(path: string, isAdded = false): Promise<RejectsFile> {
    const unfinishedPath = `${path}.${randomBytes(4).toString('hex')}.tmp`;
    try {
      return new RejectsFile(path, unfinishedPath, await open(unfinishedPath, 'wx', 0o600), isAdded);
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new AppError('option-malformed', `Cannot write the file of --skip-invalid, ${path}${reason}.`, {
        cause: error,
      });
    }
  }

  add(line: string): void {
    this.#lines.push(line);
  }

  /** Writes the buffered lines if there are many. */
  async relieve(): Promise<void> {
    if (this.#lines.length >= BUFFERED_LINES) await this.#write();
  }

  async finish(): Promise<void> {
    await this.#write();
    await this.#file.sync();
    await this.#file.close();
    if (this.#isAdded) await addTo(this.#path, this.#unfinishedPath);
    else await rename(this.#unfinishedPath, this.#path);
  }

  /** Removes a file that was not finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close().catch(() => {});
    await rm(this.#unfinishedPath, { force: true });
  }

  async #write(): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    for (let at = 0; at < lines.length; at += BUFFERED_LINES) {
      await this.#file.appendFile(lines.slice(at, at + BUFFERED_LINES).join(''));
    }
  }
}

const LINE_FEED = 10;

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
