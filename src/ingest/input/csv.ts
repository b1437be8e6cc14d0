/**
 * Divides lines into rows of cells, strictly by RFC 4180. csv-parse handles the quotes within a
 * row. This module determines which lines form a row, because an invalid row must not affect the
 * following ones, and the report requires the line and the text of every row.
 */
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { type Line, LONGEST_RECORD_BYTES, TOO_LONG } from './lines.ts';

export interface Row {
  /** The row's first line, from 1. */
  readonly line: number;
  readonly raw: string;
  readonly cells: readonly string[];
  /** Why the row is refused. */
  readonly problem?: string;
}

/** Spreadsheets write semicolons where the comma is the decimal sign. A comma goes before them. */
const SEPARATORS = [',', ';', '\t'];
/** The first line with which Excel names the separator. */
const NAMED = /^sep=([,;\t])$/i;

const UNCLOSED = 'has a quoted cell that is never closed';

/** Reasons by the error codes of csv-parse, for the author of the file. */
const TROUBLES: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: UNCLOSED,
  CSV_INVALID_CLOSING_QUOTE:
    'has text after the closing quote of a cell; a quote inside a cell is written twice',
  INVALID_OPENING_QUOTE:
    'has a quote inside a cell without quotes; put the cell in quotes, and write the quote twice',
};

/** Parses one whole row at a time. The record delimiter is NUL, which no row contains. */
const ONE_ROW = { record_delimiter: '\0', relax_column_count: true } as const;

/**
 * Makes rows of lines, whose cells are separated as in the first row. Empty lines between rows are
 * skipped.
 */
export class RowCutter {
  readonly #lineEnd: string;
  #rows: Row[] = [];
  /** Lines of a row with an open quote. */
  #open: Line[] = [];
  #openLength = 0;
  #isQuoted = false;
  #separator: string | undefined;

  /** `lineEnd` is the separator of the lines; `add` receives them without it. */
  constructor(lineEnd: '\n' | '\r' = '\n') {
    this.#lineEnd = lineEnd;
  }

  /** Undefined until the first row has begun. */
  get separator(): string | undefined {
    return this.#separator;
  }

  /** Whether the lines so far end inside a row. */
  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** The rows completed since the last call. */
  take(): readonly Row[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  add(line: Line): void {
    if (this.#separator === undefined) {
      const text = withoutReturn(line.text);
      if (text === '') return;
      const named = NAMED.exec(text)?.[1];
      this.#separator = named ?? separatorIn(text);
      if (named !== undefined) return;
    }
    this.#cut(line, this.#separator);
  }

  #cut(line: Line, separator: string): void {
    if (this.#open.length === 0 && line.problem === undefined && !line.text.includes('"')) {
      const text = withoutReturn(line.text);
      if (text !== '') this.#rows.push({ line: line.line, raw: text, cells: text.split(separator) });
      return;
    }
    this.#open.push(line);
    this.#openLength += line.text.length;
    // The row ends where its quotes pair: inside a quoted cell, a quote is written twice.
    if (countQuotes(line.text) % 2 === 1) this.#isQuoted = !this.#isQuoted;
    if (!this.#isQuoted) this.#finish(separator);
    else if (this.#openLength > LONGEST_RECORD_BYTES) this.#refuse(`${UNCLOSED}, or ${TOO_LONG}`);
  }

  /** Call after the last line. */
  end(): void {
    while (this.#open.length > 0) this.#refuse(UNCLOSED);
  }

  #finish(separator: string): void {
    const raw = withoutReturn(this.#open.map(({ text }) => text).join(this.#lineEnd));
    const problem = this.#open.find((line) => line.problem !== undefined)?.problem;
    const cells = cutCells(raw, separator);
    if (typeof cells === 'string') {
      this.#refuse(cells);
      return;
    }
    const row = { line: this.#open[0]?.line ?? 0, raw, cells };
    this.#rows.push(problem === undefined ? row : { ...row, problem });
    this.#reset();
  }

  /**
   * Refuses the first line of the open row, and reads the following lines again as separate rows.
   */
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

/** The first separator that is outside of quotes; the comma if there is none. */
function separatorIn(header: string): string {
  const bare = header.replaceAll(/"[^"]*"?/g, '');
  return SEPARATORS.find((separator) => bare.includes(separator)) ?? ',';
}

function countQuotes(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) count += 1;
  return count;
}

/** The cells of a row, or the reason why it has none. */
function cutCells(row: string, delimiter: string): readonly string[] | string {
  try {
    return parse(row, { ...ONE_ROW, delimiter })[0] ?? [];
  } catch (error) {
    if (error instanceof CsvError) return TROUBLES[error.code] ?? 'is not well-formed CSV';
    throw error;
  }
}

function withoutReturn(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}
