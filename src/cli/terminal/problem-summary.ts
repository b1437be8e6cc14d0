/** The findings of an import of many files, summed up by their kind (decision 30). */
import type { ReportedProblem } from '../../ingest/findings.ts';
import { countOf, renderTable } from './output.ts';

/** Findings in more files than this are summed up. */
const FILES_LISTED = 10;
/** A limit, because reasons contain words of the source, which can be anything. */
const MOST_KINDS = 1000;
const KINDS_LISTED = 20;
const LONGEST_REASON = 200;
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
    const { file, line } = problem;
    this.#files.add(file);
    const { field, reason } = this.#kindOf(problem);
    const name = `${field}\n${reason}`;
    const kind = this.#kinds.get(name);
    if (kind === undefined) {
      const example = line > 0 ? `${file}:${line}` : file;
      this.#kinds.set(name, { field, reason, count: 1, files: new Set([file]), example });
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

  #kindOf({ field, reason }: ReportedProblem): Pick<ProblemCount, 'field' | 'reason'> {
    const kind = { field, reason: reason.replace(VALUES, '…').slice(0, LONGEST_REASON) };
    const isKnown = this.#kinds.has(`${field}\n${kind.reason}`) || this.#kinds.size < MOST_KINDS;
    return isKnown ? kind : OTHER_KIND;
  }
}
