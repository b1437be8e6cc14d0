/** The findings of an import of many files, summed up by their kind (decision 30). */
import type { ReportedProblem } from '../../ingest/findings.ts';
import { renderPlace } from '../../ingest/records/record-place.ts';
import { countOf, renderTable } from './output.ts';

/** Findings in more files than this are summed up. */
const FILES_LISTED = 10;
/** A limit, because each word of a source can give a kind of its own. */
const MOST_KINDS = 1000;
const KINDS_LISTED = 20;
/** Of a field or a reason: both can contain words of the source. */
const LONGEST_TEXT = 200;
const OTHER_KIND = { field: '', reason: 'other reasons' };
/** Texts in quotes and numbers, which differ between findings of the same kind. */
const VALUES = /"(?:[^"\\]|\\.)*"|\b\d[\d.,]*\b/g;

interface ProblemCount {
  readonly field: string;
  readonly reason: string;
  count: number;
  readonly files: Set<string>;
  /** The first finding of the kind, as `file:line`. */
  readonly example: string;
}

/** Findings of the same kind concern the same field, for a reason that differs only in values. */
export class ProblemSummary {
  readonly #kinds = new Map<string, ProblemCount>();
  readonly #files = new Set<string>();

  add(problem: ReportedProblem): void {
    const { file } = problem;
    this.#files.add(file);
    const { field, reason } = this.#kindOf(problem);
    const name = `${field}\n${reason}`;
    const kind = this.#kinds.get(name);
    if (kind === undefined) {
      const example = renderPlace(file, problem);
      // Copies, because slices would keep the long texts in memory.
      const texts = structuredClone({ field, reason });
      this.#kinds.set(structuredClone(name), { ...texts, count: 1, files: new Set([file]), example });
    } else {
      kind.count += 1;
      kind.files.add(file);
    }
  }

  /** Whether a line for each finding would be too long a list. */
  get isNeeded(): boolean {
    return this.#files.size > FILES_LISTED;
  }

  /** The most frequent kinds, as a table. */
  render(): string {
    const kinds = [...this.#kinds.values()].sort((one, other) => other.count - one.count);
    const rows = kinds
      .slice(0, KINDS_LISTED)
      .map(
        ({ field, reason, count, files, example }) => [field, reason, count, files.size, example] as const,
      );
    const more = kinds.length - rows.length;
    return [
      renderTable(['FIELD', 'PROBLEM', 'RECORDS', 'FILES', 'EXAMPLE'], rows),
      ...(more > 0 ? [`and ${countOf(more, 'more kind')} of problem`] : []),
      '',
    ].join('\n');
  }

  #kindOf(problem: ReportedProblem): Pick<ProblemCount, 'field' | 'reason'> {
    const field = problem.field.slice(0, LONGEST_TEXT);
    const kind = { field, reason: problem.reason.slice(0, LONGEST_TEXT).replace(VALUES, '…') };
    const isKnown = this.#kinds.has(`${field}\n${kind.reason}`) || this.#kinds.size < MOST_KINDS;
    return isKnown ? kind : OTHER_KIND;
  }
}
