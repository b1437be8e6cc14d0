/** Writes instants in the contract's form, `2018-03-12T17:00:45.567+00:00` (contract 2.1). */
import { formatInstant } from '../dataset/instant.ts';
import type { Chunk } from './chunk.ts';
import { type Block, blockOver, OVERREAD_BYTES } from './fragments.ts';

export const TIMESTAMP_BYTES = 29;

const DAY_MS = 86_400_000;

/** Where the digits begin in an instant. */
const HOUR = 'yyyy-mm-ddT'.length;
const MINUTE = HOUR + 3;
const SECOND = MINUTE + 3;
const MILLISECOND = SECOND + 3;

/**
 * Keeps the day written last as bytes and puts the time over a copy of it: events come in the order of time, and a
 * date costs more than all else of a timestamp. Holds any instant of the years 1 to 9999.
 */
export class TimestampWriter {
  readonly #length: number;
  readonly #block: Block;
  #dayStartMs = Number.NaN;

  /** `end` is ASCII text that follows every timestamp. */
  constructor(end = '') {
    this.#length = TIMESTAMP_BYTES + end.length;
    this.#block = blockOver(new ArrayBuffer(this.#length + OVERREAD_BYTES));
    this.#block.bytes.write(end, TIMESTAMP_BYTES, 'latin1');
  }

  write(instantMs: number, chunk: Chunk): void {
    let ms = instantMs - this.#dayStartMs;
    if (!(ms >= 0 && ms < DAY_MS)) {
      this.#dayStartMs = Math.floor(instantMs / DAY_MS) * DAY_MS;
      this.#block.bytes.write(formatInstant(this.#dayStartMs), 'latin1');
      ms = instantMs - this.#dayStartMs;
    }
    const length = this.#length;
    const second = (ms / 1000) | 0;
    const minute = (second / 60) | 0;
    const hour = (minute / 60) | 0;
    const fraction = ms - second * 1000;
    const tenths = (fraction / 10) | 0;
    chunk.appendBytes(this.#block, length);
    chunk.overwriteTwoDigits(hour, length - HOUR);
    chunk.overwriteTwoDigits(minute - hour * 60, length - MINUTE);
    chunk.overwriteTwoDigits(second - minute * 60, length - SECOND);
    // The last two of three digits first: then the first two, which the second digit has in common with them.
    chunk.overwriteTwoDigits(fraction - ((fraction / 100) | 0) * 100, length - MILLISECOND - 1);
    chunk.overwriteTwoDigits(tenths, length - MILLISECOND);
  }
}
