/**
 * Collects the problems of an import: the first ones for the report, the number of all, and with
 * `--skip-invalid` every one of them in the file of rejects (decision 30).
 */
import { escapeLineEnds } from '../domain/json-text.ts';
import { shortened } from '../domain/shortened-text.ts';
import type { StagedProblem } from '../store/staging.ts';
import { decodePlace } from './records/record-place.ts';
import type { RejectsFile } from './rejects-file.ts';

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
