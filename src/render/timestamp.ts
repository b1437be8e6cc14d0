/** Writes instants in the contract's form, `2018-03-12T17:00:45.567+00:00` (contract 2.1). */
import { formatInstant } from '../dataset/instant.ts';
import type { Chunk } from './chunk.ts';

export const TIMESTAMP_BYTES = 29;

const DAY_MS = 86_400_000;

/** Remembers the day: events come in the order of time, and a date costs more than all else of a timestamp. */
export class TimestampWriter {
  #dayStartMs = Number.NaN;
  #date = '';

  /** Any instant of the years 1 to 9999. */
  write(instantMs: number, chunk: Chunk): void {
    let ms = instantMs - this.#dayStartMs;
    if (!(ms >= 0 && ms < DAY_MS)) {
      this.#dayStartMs = Math.floor(instantMs / DAY_MS) * DAY_MS;
      this.#date = formatInstant(this.#dayStartMs).slice(0, 'yyyy-mm-ddT'.length);
      ms = instantMs - this.#dayStartMs;
    }
    const seconds = Math.floor(ms / 1000);
    const minutes = Math.floor(seconds / 60);
    chunk.appendAscii(this.#date);
    chunk.appendDigits(Math.floor(minutes / 60), 2);
    chunk.appendAscii(':');
    chunk.appendDigits(minutes % 60, 2);
    chunk.appendAscii(':');
    chunk.appendDigits(seconds % 60, 2);
    chunk.appendAscii('.');
    chunk.appendDigits(ms % 1000, 3);
    chunk.appendAscii('+00:00');
  }
}
