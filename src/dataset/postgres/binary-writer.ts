/** PostgreSQL's binary COPY format, written row by row; what the format is stands in `binary-copy.ts`. */
import { HEADER_BYTES, SIGNATURE, TRAILER } from './binary-copy.ts';

const FIRST_BYTES = 256 * 1024;

/** Rows on their way into a table. The caller writes as many fields a row as it announces. */
export class BinaryWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  // Writes several times as fast as the methods of a Buffer.
  #view = viewOf(this.#bytes);
  #length = 0;

  constructor() {
    SIGNATURE.copy(this.#bytes);
    this.#bytes.fill(0, SIGNATURE.length, HEADER_BYTES);
    this.#length = HEADER_BYTES;
  }

  /** Bytes that wait to be taken. */
  get length(): number {
    return this.#length;
  }

  row(fields: number): void {
    this.#reserve(2);
    this.#view.setInt16(this.#length, fields);
    this.#length += 2;
  }

  /** A null of any type. */
  none(): void {
    this.#reserve(4);
    this.#view.setInt32(this.#length, -1);
    this.#length += 4;
  }

  int4(value: number): void {
    this.#reserve(8);
    this.#view.setInt32(this.#length, 4);
    this.#view.setInt32(this.#length + 4, value);
    this.#length += 8;
  }

  /** A number that is an integer JavaScript tells exactly. */
  int8(value: number | bigint): void {
    if (typeof value === 'bigint') {
      this.halves(Number(value >> 32n), Number(BigInt.asIntN(32, value)));
      return;
    }
    const high = Math.floor(value / 2 ** 32);
    this.halves(high, value - high * 2 ** 32);
  }

  /** An int8 by its halves, of 32 bits each. */
  halves(high: number, low: number): void {
    this.#reserve(12);
    this.#view.setInt32(this.#length, 8);
    this.#view.setInt32(this.#length + 4, high);
    this.#view.setInt32(this.#length + 8, low);
    this.#length += 12;
  }

  boolean(value: boolean): void {
    this.#reserve(5);
    this.#view.setInt32(this.#length, 1);
    this.#view.setInt8(this.#length + 4, value ? 1 : 0);
    this.#length += 5;
  }

  text(value: string): void {
    // UTF-8 takes at most three bytes for a unit of UTF-16.
    this.#reserve(4 + 3 * value.length);
    const length = this.#bytes.write(value, this.#length + 4);
    this.#view.setInt32(this.#length, length);
    this.#length += 4 + length;
  }

  /** What was written since the last time, in memory that is not used again. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#continueIn(Buffer.allocUnsafeSlow(FIRST_BYTES));
    this.#length = 0;
    return taken;
  }

  /** Ends the rows; take what is left afterwards. */
  end(): void {
    this.row(TRAILER);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#continueIn(larger);
  }

  #continueIn(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
