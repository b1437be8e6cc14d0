/**
 * Reads NDJSON, one record per line. The text of a line that may be a known nested event is only
 * decoded when it is needed.
 */
import type { EventRecord } from '../../store/staging.ts';
import type { Written } from '../fields/form.ts';
import { cutLines, type LineBlock, readBlocks } from '../input/lines.ts';
import type { NestedEvents } from './nested-events.ts';
import { type Reading, readJson } from './record-reading.ts';

const LINE_FEED = 10;
const BRACE = 123;

/** The records in order, many at a time. Blank lines are skipped. */
export async function* readJsonLines(
  bytes: AsyncIterable<Buffer>,
  nested: NestedEvents | undefined,
): AsyncGenerator<readonly Reading[]> {
  let line = 1;
  for await (const block of readBlocks(bytes)) {
    if (nested?.isOfUse === true && !block.isOverlong) {
      const readings = cutNested(block, line, nested);
      yield readings.filter(isReading);
      line += readings.length;
      continue;
    }
    const lines = cutLines(block, line);
    yield lines.filter(({ text }) => text.trim() !== '').map(readJson);
    line += lines.length;
  }
}

/** One reading for each line of the block; undefined for a blank line. */
function cutNested({ bytes }: LineBlock, firstLine: number, nested: NestedEvents): (Reading | undefined)[] {
  const readings: (Reading | undefined)[] = [];
  for (let from = 0; from <= bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, from);
    const to = found === -1 ? bytes.length : found;
    const line = firstLine + readings.length;
    if (bytes[from] === BRACE) readings.push(new NestedReading(bytes, from, to, line, nested));
    else {
      const [cut] = cutLines({ bytes: bytes.subarray(from, to), isOverlong: false }, line);
      readings.push(cut === undefined || cut.text.trim() === '' ? undefined : readJson(cut));
    }
    from = to + 1;
  }
  return readings;
}

function isReading(reading: Reading | undefined): reading is Reading {
  return reading !== undefined;
}

/** A line that may be a known nested event. Its text is only decoded when it is not. */
class NestedReading implements Reading {
  readonly line: number;
  readonly #bytes: Buffer;
  readonly #from: number;
  readonly #to: number;
  readonly #nested: NestedEvents;

  constructor(bytes: Buffer, from: number, to: number, line: number, nested: NestedEvents) {
    this.line = line;
    this.#bytes = bytes;
    this.#from = from;
    this.#to = to;
    this.#nested = nested;
  }

  get length(): number {
    return this.#to - this.#from;
  }

  get raw(): string {
    return this.#bytes.toString('utf8', this.#from, this.#to);
  }

  event(): EventRecord | undefined {
    return this.#nested.read(this.#bytes, this.#from, this.#to, this.line);
  }

  read(): Written {
    const block = { bytes: this.#bytes.subarray(this.#from, this.#to), isOverlong: false };
    return readJson(cutLines(block, this.line)[0] ?? { line: this.line, text: '' }).read();
  }
}
