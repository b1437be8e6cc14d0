/** Writes instants in the contract's form, `2018-03-12T17:00:45.567+00:00` (contract 2.1). */
import { formatInstant } from '../dataset/instant.ts';
import { copyBytes, writeTwoDigits } from './chunk.ts';
import { type Block, blockOver, OVERREAD_BYTES } from './fragments.ts';

export const TIMESTAMP_BYTES = 29;

const DAY_MS = 86_400_000;

/** Where the digits begin in an instant. */
const HOUR = 'yyyy-mm-ddT'.length;
const MINUTE = HOUR + 3;
const SECOND = MINUTE + 3;
const MILLISECOND = SECOND + 3;

/** More than ten years; beyond that all are forgotten, which costs time, nothing else. */
const MOST_DAYS = 4096;

/**
 * Keeps days as bytes and puts the time over a copy: a date costs more than all else of a timestamp. Holds any instant
 * of the years 1 to 9999.
 */
export class TimestampWriter {
  readonly #end: string;
  readonly #length: number;
  readonly #days = new Map<number, Block>();
  #dayStartMs = Number.NaN;
  #day: Block;

  /** `end` is ASCII text that follows every timestamp. */
  constructor(end = '') {
    this.#end = end;
    this.#length = TIMESTAMP_BYTES + end.length;
    this.#day = this.#makeDay(0);
  }

  /** Answers where the next bytes go. */
  write(instantMs: number, target: Block, at: number): number {
    let ms = instantMs - this.#dayStartMs;
    if (!(ms >= 0 && ms < DAY_MS)) {
      this.#turnTo(Math.floor(instantMs / DAY_MS) * DAY_MS);
      ms = instantMs - this.#dayStartMs;
    }
    const end = copyBytes(this.#day, 0, this.#length, target, at);
    const second = (ms / 1000) | 0;
    const minute = (second / 60) | 0;
    const hour = (minute / 60) | 0;
    const fraction = ms - second * 1000;
    const hundreds = (fraction / 100) | 0;
    writeTwoDigits(hour, target, at + HOUR);
    writeTwoDigits(minute - hour * 60, target, at + MINUTE);
    writeTwoDigits(second - minute * 60, target, at + SECOND);
    // Three digits: the last two, then the first two, which have the one in the middle in common.
    writeTwoDigits(fraction - hundreds * 100, target, at + MILLISECOND + 1);
    writeTwoDigits((fraction / 10) | 0, target, at + MILLISECOND);
    return end;
  }
  #turnTo(dayStartMs: number): void {
    let day = this.#days.get(dayStartMs);
    if (day === undefined) {
      if (this.#days.size >= MOST_DAYS) this.#days.clear();
      day = this.#makeDay(dayStartMs);
      this.#days.set(dayStartMs, day);
    }
    this.#day = day;
    this.#dayStartMs = dayStartMs;
  }

  #makeDay(dayStartMs: number): Block {
    const day = blockOver(new ArrayBuffer(this.#length + OVERREAD_BYTES));
    day.bytes.write(formatInstant(dayStartMs) + this.#end, 'latin1');
    return day;
  }
}
