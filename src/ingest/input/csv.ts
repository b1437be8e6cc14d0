/**
 * Cuts lines into rows of cells as RFC 4180 has it, strictly. Quoting is csv-parse's business; which lines make up a
 * row is told here, because a row that is wrong must not take the next ones along, and every row needs its line and
 * its text for the report.
 */
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { type Line, LONGEST_RECORD_BYTES, TOO_LONG } from './lines.ts';

export interface Row {
  /** The row's first line, from 1. */
  readonly line: number;
  readonly raw: string;
  readonly cells: readonly string[];
  /** Why the row cannot be taken as it is. */
  readonly problem?: string;
}

const UNCLOSED = 'has a quoted cell that is never closed';

/** What the library's codes mean to the person who wrote the file. */
const TROUBLES: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: UNCLOSED,
  CSV_INVALID_CLOSING_QUOTE:
    'has text after the closing quote of a cell; a quote inside a cell is written twice',
  INVALID_OPENING_QUOTE:
    'has a quote inside a cell without quotes; put the cell in quotes, and write the quote twice',
};

/** A whole row at a time: its end is known, and no text holds the NUL that is named as the end of a record. */
const ONE_ROW = { record_delimiter: '\0', relax_column_count: true } as const;

/** Makes rows of lines; empty lines between rows are passed over. */
export class RowCutter {
  readonly #lineEnd: string;
  #rows: Row[] = [];
  /** Lines of a row whose quotes do not pair yet. */
  #open: Line[] = [];
  #openLength = 0;
  #isQuoted = false;

  /** Lines come without what is between them. */
  constructor(lineEnd: '\n' | '\r' = '\n') {
    this.#lineEnd = lineEnd;
  }

  /** Whether the lines so far end inside a row. */
  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** The rows that have been found since the last call. */
  take(): readonly Row[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  add(line: Line): void {
    if (this.#open.length === 0 && line.problem === undefined && !line.text.includes('"')) {
      const text = withoutReturn(line.text);
      if (text !== '') this.#rows.push({ line: line.line, raw: text, cells: text.split(',') });
      return;
    }
    this.#open.push(line);
    this.#openLength += line.text.length;
    // Quotes that pair close the row: inside a quoted cell a quote is written twice.
    if (countQuotes(line.text) % 2 === 1) this.#isQuoted = !this.#isQuoted;
    if (!this.#isQuoted) this.#finish();
    else if (this.#openLength > LONGEST_RECORD_BYTES) this.#refuse(`${UNCLOSED}, or ${TOO_LONG}`);
  }

  /** No line follows any more. */
  end(): void {
    while (this.#open.length > 0) this.#refuse(UNCLOSED);
  }

  #finish(): void {
    const raw = withoutReturn(this.#open.map(({ text }) => text).join(this.#lineEnd));
    const problem = this.#open.find((line) => line.problem !== undefined)?.problem;
    const cells = cutCells(raw);
    if (typeof cells === 'string') {
      this.#refuse(cells);
      return;
    }
    const row = { line: this.#open[0]?.line ?? 0, raw, cells };
    this.#rows.push(problem === undefined ? row : { ...row, problem });
    this.#reset();
  }

  /** Refuses the line where the row began and reads what follows it anew, as rows of their own. */
  #refuse(problem: string): void {
    const [first, ...following] = this.#open;
    if (first === undefined) return;
    const raw = withoutReturn(first.text);
    this.#rows.push({ line: first.line, raw, cells: [], problem: first.problem ?? problem });
    this.#reset();
    for (const line of following) this.add(line);
  }

  #reset(): void {
    this.#open = [];
    this.#openLength = 0;
    this.#isQuoted = false;
  }
}

function countQuotes(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) count += 1;
  return count;
}

/** The cells of a row, or why it has none. */
function cutCells(row: string): readonly string[] | string {
  try {
    return parse(row, ONE_ROW)[0] ?? [];
  } catch (error) {
    if (error instanceof CsvError) return TROUBLES[error.code] ?? 'is not well-formed CSV';
    throw error;
  }
}

function withoutReturn(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}
