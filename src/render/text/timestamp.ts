/** Writes instants in the contract's form, `2018-03-12T17:00:45.567+00:00` (contract 2.1). */
import { formatInstant } from '../../domain/instant.ts';
import { writeTwoDigits } from './chunk.ts';
import { type Block, blockOver } from './fragments.ts';

export const TIMESTAMP_BYTES = 29;

const DAY_MS = 86_400_000;

/** Offsets of the digits in a timestamp. */
const HOUR = 'yyyy-mm-ddT'.length;
const MINUTE = HOUR + 3;
const SECOND = MINUTE + 3;
const MILLISECOND = SECOND + 3;

/**
 * Number of days in the cache: nearly three years, or any other days if no two of them are a
 * multiple of this number apart.
 */
const KEPT_DAYS = 1024;

/**
 * Caches days as bytes and writes the time over a copy, because the date is the most expensive part
 * of a timestamp. Accepts any instant of the years 1 to 9999.
 */
export class TimestampWriter {
  readonly #end: string;
  /** Bytes of a timestamp with the text that follows it. */
  readonly length: number;
  /**
   * The day in each slot of the cache. Each day has one fixed slot, in which it replaces the
   * previous day.
   */
  readonly #places: Float64Array;
  readonly #texts: Block;

  /** `end` is ASCII text that follows every timestamp. */
  constructor(end = '') {
    this.#end = end;
    this.length = TIMESTAMP_BYTES + end.length;
    this.#places = new Float64Array(KEPT_DAYS).fill(Number.NaN);
    this.#texts = blockOver(new ArrayBuffer(KEPT_DAYS * this.length));
  }

  /** Writes a timestamp and the text that follows it. Returns the position of the next byte. */
  write(instantMs: number, target: Block, at: number): number {
    const day = Math.floor(instantMs / DAY_MS);
    const place = day & (KEPT_DAYS - 1);
    if (this.#places[place] !== day) this.#keep(day, place);
    const start = place * this.length;
    copyExactly(this.#texts, start, this.length, target, at);
    const ms = instantMs - day * DAY_MS;
    const second = (ms / 1000) | 0;
    const minute = (second / 60) | 0;
    const hour = (minute / 60) | 0;
    const fraction = ms - second * 1000;
    const hundreds = (fraction / 100) | 0;
    writeTwoDigits(hour, target, at + HOUR);
    writeTwoDigits(minute - hour * 60, target, at + MINUTE);
    writeTwoDigits(second - minute * 60, target, at + SECOND);
    // Three digits: the last two, then the first two; the middle one is written twice.
    writeTwoDigits(fraction - hundreds * 100, target, at + MILLISECOND + 1);
    writeTwoDigits((fraction / 10) | 0, target, at + MILLISECOND);
    return at + this.length;
  }

  #keep(day: number, place: number): void {
    this.#places[place] = day;
    this.#texts.bytes.write(formatInstant(day * DAY_MS) + this.#end, place * this.length, 'latin1');
  }
}

/**
 * Copies `length` bytes, at least eight, and none beyond them, because the next bytes may have been
 * written already.
 */
function copyExactly(source: Block, start: number, length: number, target: Block, at: number): void {
  const last = length - 8;
  for (let done = 0; done < last; done += 8) {
    target.view.setBigInt64(at + done, source.view.getBigInt64(start + done, true), true);
  }
  target.view.setBigInt64(at + last, source.view.getBigInt64(start + last, true), true);
}
