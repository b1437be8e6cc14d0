/**
 * Reads an input of any form as a sequence of written records, in bounded memory. An unreadable
 * record becomes a refusal at its line. Damage that ends the reading becomes the last refusal.
 */

import { checkSeparators, readHeader, type Written } from '../fields/form.ts';
import { Damage, Refusal } from '../fields/refusal.ts';
import type { Format } from '../formats/format.ts';
import type { Input } from '../input/bundle.ts';
import { checkDecoded, decodeWindows1252, toUtf8 } from '../input/code-pages.ts';
import { RowCutter } from '../input/csv.ts';
import { unpack } from '../input/decompression.ts';
import { asArray, readElements } from '../input/json-array.ts';
import { cutLines, LINE_FEED, type LineEnd, RETURN, type ReadOther, readBlocks } from '../input/lines.ts';
import type { OpenInput } from '../input/open-input.ts';
import { type ReadParquet, readParquetInput } from '../input/parquet-input.ts';
import { readJsonLines } from './json-lines.ts';
import { listedIn } from './listed-records.ts';
import type { NestedEvents } from './nested-events.ts';
import { PlainEvents } from './plain-events.ts';
import { type Reading, readJson, refused } from './record-reading.ts';

export interface ReadingOptions {
  readonly readParquet: ReadParquet;
  /** Whether the input will not be read again. */
  readonly isLast: boolean;
  /**
   * Number of the input if plain events may be returned as columns, which are valid until the next
   * are requested.
   */
  readonly plainFile?: number | undefined;
  /** Recognizes nested events whose objects are unchanged since earlier events. */
  readonly nested?: NestedEvents | undefined;
  /** Receives what is assumed about a line that can be read in several ways. */
  readonly onAssumption?: OnAssumption | undefined;
}

type OnAssumption = (assumption: string, line: number) => void;

const NOT_ENGLISH = 'the columns under a header that is not English are in their usual order';
const NOT_UTF8 = 'lines that are not UTF-8 are Windows-1252; otherwise give --encoding';

/**
 * The records of the input in order, many at a time. Throws `file-unreadable` when the file cannot
 * be read at all.
 */
export async function* readRecords(
  open: OpenInput,
  options: ReadingOptions,
): AsyncGenerator<readonly Reading[] | PlainEvents> {
  let line = 0;
  const list = open.input.foreign?.list;
  try {
    for await (const part of divide(readForm(open, options), list)) {
      line = (part instanceof PlainEvents ? part.lines[part.count - 1] : part.at(-1)?.line) ?? line;
      yield part;
    }
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    const where = line === 0 ? '' : ` (after the record of line ${line})`;
    yield [refused(line, undefined, new Refusal('', `${error.message}${where}`))];
  }
}

/** Replaces each document that lists records in its member `list` by these. */
async function* divide(
  parts: AsyncIterable<readonly Reading[] | PlainEvents>,
  list: string | undefined,
): AsyncIterable<readonly Reading[] | PlainEvents> {
  for await (const part of parts) {
    if (list === undefined || part instanceof PlainEvents) yield part;
    else yield part.flatMap((reading) => listedIn(reading, list) ?? reading);
  }
}

async function* readForm(open: OpenInput, options: ReadingOptions) {
  const { readParquet, isLast, nested } = options;
  const { input, form, source } = open;
  if (form.format === 'parquet') {
    for await (const rows of readParquetInput(open, isLast, readParquet)) yield rows.map(readJson);
    return;
  }
  const bytes = unpack(source.read(isLast), form.compression);
  if (form.format === 'csv') yield* readCsv(bytes, open, options);
  else if (form.format === 'xml') {
    const { readRows } = await import('./xml-rows.ts');
    yield* readRows(bytes);
  } else if (form.format === 'json') {
    const array = input.foreign === undefined ? bytes : asArray(bytes);
    for await (const elements of readElements(array)) yield elements.map(readJson);
  } else yield* readJsonLines(bytes, nested);
}

async function* readCsv(
  bytes: AsyncIterable<Buffer>,
  { input, form }: OpenInput,
  { plainFile, onAssumption = () => {} }: ReadingOptions,
): AsyncGenerator<readonly Reading[] | PlainEvents> {
  const lineEnd = form.endsAtReturns === true ? RETURN : LINE_FEED;
  const { encoding } = input;
  const table = new InputTable(input, lineEnd, onAssumption);
  const readOther = readerOfOther(input, onAssumption);
  let line = 1;
  try {
    const text = encoding === undefined ? bytes : toUtf8(bytes, encoding);
    for await (const block of readBlocks(text, lineEnd)) {
      let place = 0;
      const plain = block.isOverlong || plainFile === undefined ? undefined : table.plainEvents(plainFile);
      while (plain !== undefined) {
        const before = plain.count;
        place = plain.take(block.bytes, place, line);
        line += plain.count - before;
        if (!plain.isFull) break;
        yield* table.takePlain();
      }
      if (place > block.bytes.length) continue;
      yield* table.takePlain();
      const lines = cutLines({ ...block, bytes: block.bytes.subarray(place) }, line, readOther, lineEnd);
      line += lines.length;
      for (const one of lines) table.cutter.add(encoding === undefined ? one : checkDecoded(one, encoding));
      yield table.take();
      if (table.isRefused) return;
    }
  } catch (error) {
    // What was read before the damage counts, and says at which line it is.
    yield* table.takePlain();
    throw error;
  }
  yield* table.takePlain();
  table.cutter.end();
  yield table.take();
  if (!table.hasHeader) throw new Damage('the file has no header');
}

/** How lines that are not UTF-8 are read. */
function readerOfOther({ foreign }: Input, onAssumption: OnAssumption): ReadOther {
  if (foreign === undefined || foreign.isUtf8 === true) {
    const problem = 'is not UTF-8; save the file as UTF-8, which Excel calls "CSV UTF-8"';
    return (bytes) => ({ text: bytes.toString(), problem });
  }
  return (bytes, line) => {
    const decoded = decodeWindows1252(bytes);
    if (decoded.problem === undefined) onAssumption(NOT_UTF8, line);
    return decoded;
  };
}

/** The state of reading a CSV file: the header, once it is read, and the rows below it. */
class InputTable {
  readonly cutter: RowCutter;
  /** Whether the header is invalid, so that no record below it can be valid. */
  isRefused = false;
  readonly #input: Input;
  readonly #lineEnd: LineEnd;
  readonly #onAssumption: OnAssumption;
  #header: readonly string[] | undefined;
  #plainEvents: PlainEvents | undefined;

  constructor(input: Input, lineEnd: LineEnd, onAssumption: OnAssumption) {
    this.cutter = new RowCutter(lineEnd === RETURN ? '\r' : '\n');
    this.#input = input;
    this.#lineEnd = lineEnd;
    this.#onAssumption = onAssumption;
  }

  get hasHeader(): boolean {
    return this.#header !== undefined;
  }

  /** The columns for plain events; undefined if there can be none at this position. */
  plainEvents(file: number): PlainEvents | undefined {
    if (this.#header === undefined || this.cutter.isOpen || this.#lineEnd !== LINE_FEED) return undefined;
    if (this.#input.kind !== 'events' || this.#input.foreign !== undefined) return undefined;
    if (this.cutter.separator !== ',') return undefined;
    this.#plainEvents ??= PlainEvents.under(this.#header, file);
    return this.#plainEvents;
  }

  /** The plain events that have been read since the last call, if there are any. */
  *takePlain(): Generator<PlainEvents> {
    if (this.#plainEvents === undefined || this.#plainEvents.count === 0) return;
    yield this.#plainEvents;
    this.#plainEvents.clear();
  }

  take(): readonly Reading[] {
    const readings: Reading[] = [];
    for (const { line, raw, cells, problem } of this.cutter.take()) {
      if (problem !== undefined) {
        if (this.#header === undefined) throw new Damage(`the header ${problem}`);
        readings.push(refused(line, raw, new Refusal('', problem)));
        continue;
      }
      const header = this.#header;
      if (header !== undefined) {
        readings.push({ line, length: raw.length, raw, read: () => writtenCells(header, cells) });
        continue;
      }
      this.#header = cells;
      try {
        const { kind, foreign } = this.#input;
        this.#header = foreign === undefined ? readHeader(kind, cells) : readForeignHeader(foreign, cells);
        if (foreign !== undefined && this.#header !== cells) this.#onAssumption(NOT_ENGLISH, line);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.isRefused = true;
        return [refused(line, undefined, error)];
      }
    }
    return readings;
  }
}

/** The names of the columns. Throws `Refusal` when no record below them can be valid. */
function readForeignHeader({ name, columns, layout }: Format, header: readonly string[]): readonly string[] {
  checkSeparators(header);
  const missing = columns?.find((column) => !header.includes(column));
  if (missing === undefined) return header;
  if (layout === undefined) {
    throw new Refusal(
      missing,
      `is not in the header; files of ${name} have the columns ${columns?.join(', ')}`,
    );
  }
  const first = header.length - layout.length;
  // English names must be in their places: otherwise somebody has arranged the columns.
  const isArranged = header.some((cell, at) => layout.includes(cell) && layout[at - first] !== cell);
  if ((first === 0 || first === 1) && !isArranged) return [...header.slice(0, first), ...layout];
  throw new Refusal(
    missing,
    `is not in the header; files of ${name} have the columns ${layout.join(', ')}, in this order if they have names in another language`,
  );
}

function writtenCells(header: readonly string[], cells: readonly string[]): Written {
  if (cells.length !== header.length) {
    throw new Refusal('', `has ${cells.length} cells, but the header has ${header.length}`);
  }
  const value: Record<string, string> = {};
  for (let at = 0; at < cells.length; at += 1) value[header[at] ?? ''] = cells[at] ?? '';
  return { value, isCells: true };
}
