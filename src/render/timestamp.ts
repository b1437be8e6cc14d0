/** Writes instants in the contract's form, `2018-03-12T17:00:45.567+00:00` (contract 2.1). */
import { formatInstant } from '../dataset/instant.ts';
import type { Chunk } from './chunk.ts';
import { type Block, OVERREAD_BYTES } from './fragments.ts';

export const TIMESTAMP_BYTES = 29;

const DAY_MS = 86_400_000;
const ZERO = 48;

/** Offset, in the bytes of an instant, of the two digits of the hour; the others follow from there. */
const HOUR = 'yyyy-mm-ddT'.length;
const MINUTE = HOUR + 3;
const SECOND = MINUTE + 3;
const MILLISECOND = SECOND + 3;

/**
 * Keeps the instant written last as bytes and changes only what differs: events come in the order of time, and a
 * date costs more than all else of a timestamp. Holds any instant of the years 1 to 9999.
 */
export class TimestampWriter {
  readonly #length: number;
  readonly #bytes: Buffer;
  readonly #block: Block;
  #dayStartMs = Number.NaN;
  #second = Number.NaN;

  /** `end` is ASCII text that follows every timestamp. */
  constructor(end = '') {
    this.#length = TIMESTAMP_BYTES + end.length;
    this.#bytes = Buffer.alloc(this.#length + OVERREAD_BYTES);
    this.#bytes.write(end, TIMESTAMP_BYTES, 'latin1');
    this.#block = { bytes: this.#bytes, view: new DataView(this.#bytes.buffer, this.#bytes.byteOffset) };
  }

  write(instantMs: number, chunk: Chunk): void {
    let ms = instantMs - this.#dayStartMs;
    if (!(ms >= 0 && ms < DAY_MS)) {
      this.#dayStartMs = Math.floor(instantMs / DAY_MS) * DAY_MS;
      this.#bytes.write(formatInstant(this.#dayStartMs), 'latin1');
      this.#second = 0;
      ms = instantMs - this.#dayStartMs;
    }
    const second = Math.floor(ms / 1000);
    if (second !== this.#second) {
      this.#second = second;
      const minute = Math.floor(second / 60);
      this.#writeTwoDigits(Math.floor(minute / 60), HOUR);
      this.#writeTwoDigits(minute % 60, MINUTE);
      this.#writeTwoDigits(second % 60, SECOND);
    }
    const fraction = ms - second * 1000;
    this.#bytes[MILLISECOND] = ZERO + Math.floor(fraction / 100);
    this.#writeTwoDigits(fraction % 100, MILLISECOND + 1);
    chunk.appendBytes(this.#block, this.#length);
  }

  #writeTwoDigits(value: number, at: number): void {
    const tens = Math.floor(value / 10);
    this.#bytes[at] = ZERO + tens;
    this.#bytes[at + 1] = ZERO + value - tens * 10;
  }
}
