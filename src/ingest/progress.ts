/** Reports the progress of an import, at limited intervals (decision 32). */
import type { Input } from './input/bundle.ts';

export interface ImportProgress {
  /** The file being read, as the user gave it. */
  readonly file: string;
  /** Bytes read of all files, in their stored form. */
  readonly bytesRead: number;
  /** Absent if the length of an input is not known. */
  readonly bytesTotal: number | undefined;
  /** Records read of all files. */
  readonly records: number;
}

const INTERVAL_MS = 100;

export class Meter {
  readonly #onProgress: ((progress: ImportProgress) => void) | undefined;
  readonly #bytesTotal: number | undefined;
  #bytesRead = 0;
  #records = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(inputs: readonly Input[], onProgress: ((progress: ImportProgress) => void) | undefined) {
    this.#onProgress = onProgress;
    this.#bytesTotal = inputs.some(({ byteLength }) => byteLength === undefined)
      ? undefined
      : inputs.reduce((sum, { byteLength = 0 }) => sum + byteLength, 0);
  }

  addBytes(bytes: number): void {
    this.#bytesRead += bytes;
  }

  addRecords(records: number, file: string): void {
    this.#records += records;
    if (this.#onProgress === undefined || performance.now() - this.#toldMs < INTERVAL_MS) return;
    this.tell(file);
  }

  tell(file: string): void {
    this.#toldMs = performance.now();
    this.#onProgress?.({
      file,
      bytesRead: this.#bytesRead,
      bytesTotal: this.#bytesTotal,
      records: this.#records,
    });
  }
}
