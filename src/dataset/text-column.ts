/** A column of texts: all of them side by side in UTF-8, and where each one begins. */
import { inSlices, slice } from '../system/time-slice.ts';

/** Bytes that 32-bit offsets reach. */
const MOST_NARROW_BYTES = 2 ** 32 - 1;
/** Texts between two looks at the clock. */
const TEXTS_AT_ONCE = 1_024;

/** A column as it travels to another thread, which makes `new TextColumn` of it. */
export interface TextParts {
  readonly bytes: Uint8Array;
  /** Text `i` lies at `[offsets[i], offsets[i + 1])`. */
  readonly offsets: Uint32Array | Float64Array;
  /** The texts are JSON, and have no raw line ends (decision 70). */
  readonly isJson: boolean;
}

export class TextColumn {
  readonly parts: TextParts;
  readonly #bytes: Buffer;
  readonly #offsets: Uint32Array | Float64Array;

  constructor(parts: TextParts) {
    this.parts = parts;
    const { buffer, byteOffset, byteLength } = parts.bytes;
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength);
    this.#offsets = parts.offsets;
  }

  /** Halves of surrogate pairs, which UTF-8 does not have, become replacement characters. */
  static of(texts: readonly string[], isJson = false): TextColumn {
    const offsets = new Float64Array(texts.length + 1);
    for (let index = 0; index < texts.length; index++) {
      offsets[index + 1] = offsets[index]! + Buffer.byteLength(texts[index]!);
    }
    let bytes = Buffer.from(texts.join(''));
    // The end of a text and the beginning of the next one were halves of a pair.
    if (bytes.length !== offsets[texts.length]) bytes = Buffer.concat(texts.map((text) => Buffer.from(text)));
    return new TextColumn({ bytes, offsets, isJson });
  }

  /** Of so many texts, made in slices of time that look at the clock after `atOnce` of them. */
  static async make(count: number, atOnce: number, text: (index: number) => string): Promise<TextColumn> {
    const parts: TextColumn[] = [];
    await inSlices(
      0,
      count,
      (from, to) => parts.push(TextColumn.of(Array.from({ length: to - from }, (_, at) => text(from + at)))),
      atOnce,
    );
    return await TextColumn.join(parts, false);
  }

  /** The texts of all parts in memory that threads share, in slices of time. */
  static async join(parts: readonly TextColumn[], isJson: boolean): Promise<TextColumn> {
    const byteLength = parts.reduce((sum, { parts: { bytes } }) => sum + bytes.length, 0);
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    const bytes = new Uint8Array(new SharedArrayBuffer(byteLength));
    const offsets =
      byteLength > MOST_NARROW_BYTES
        ? new Float64Array(new SharedArrayBuffer(8 * (count + 1)))
        : new Uint32Array(new SharedArrayBuffer(4 * (count + 1)));
    let at = 0;
    let index = 0;
    for (const { parts: part } of parts) {
      bytes.set(part.bytes, at);
      for (let place = 1; place < part.offsets.length; place++) {
        offsets[++index] = at + part.offsets[place]!;
        if (index % TEXTS_AT_ONCE === 0 && slice.isOver()) await slice.pass();
      }
      at += part.bytes.length;
    }
    return new TextColumn({ bytes, offsets, isJson });
  }

  get count(): number {
    return this.#offsets.length - 1;
  }

  get isJson(): boolean {
    return this.parts.isJson;
  }

  at(index: number): string {
    return this.#bytes.toString('utf8', this.#offsets[index], this.#offsets[index + 1]);
  }

  /** In bytes. */
  size(index: number): number {
    return this.#offsets[index + 1]! - this.#offsets[index]!;
  }
}
