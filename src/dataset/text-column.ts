/** A column of texts: the bytes of all texts in UTF-8, and the offset of each. */
import { inSlices, slice } from '../system/time-slice.ts';
import { append, extend } from './shared-arrays.ts';

/** The largest byte length for which 32-bit offsets suffice. */
const MOST_NARROW_BYTES = 2 ** 32 - 1;
/** Texts between two checks of the clock. */
const TEXTS_AT_ONCE = 1_024;

/** Exact beyond four gigabytes, whatever the type of the offsets. */
export function endsBehind({ parts: { offsets } }: TextColumn, byteLength: number): Float64Array {
  return Float64Array.from(offsets.subarray(1), (end) => byteLength + end);
}

/** A column as it is sent to a different thread, which makes a `TextColumn` from it. */
export interface TextParts {
  readonly bytes: Uint8Array;
  /** Text `i` is at `[offsets[i], offsets[i + 1])`. */
  readonly offsets: Uint32Array | Float64Array;
  /** Whether the texts are JSON, without raw line ends (decision 70). */
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

  /** Unpaired surrogates, which UTF-8 cannot represent, become replacement characters. */
  static of(texts: readonly string[], isJson = false): TextColumn {
    const offsets = new Float64Array(texts.length + 1);
    for (let index = 0; index < texts.length; index++) {
      offsets[index + 1] = offsets[index]! + Buffer.byteLength(texts[index]!);
    }
    let bytes = Buffer.from(texts.join(''));
    // The lengths differ if a text ends with one half of a surrogate pair and the next one starts
    // with the other.
    if (bytes.length !== offsets[texts.length]) bytes = Buffer.concat(texts.map((text) => Buffer.from(text)));
    return new TextColumn({ bytes, offsets, isJson });
  }

  /** Makes `count` texts in time slices, with `atOnce` texts between two checks of the clock. */
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

  /** Joins the texts of all parts in shared memory, in time slices. */
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

  /** The texts of `added` behind these, in the same memory if that has room. */
  async append(added: TextColumn): Promise<TextColumn> {
    const { offsets, isJson } = this.parts;
    // Not a Buffer, of which there is no constructor for a part of memory.
    const bytes = new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
    const ends = endsBehind(added, bytes.length);
    const byteLength = bytes.length + added.parts.bytes.length;
    if (offsets instanceof Uint32Array && byteLength > MOST_NARROW_BYTES)
      return await TextColumn.join([this, added], isJson);
    const extended = await extend(offsets, offsets.length + ends.length);
    extended.set(ends, offsets.length);
    return new TextColumn({ bytes: await append(bytes, added.parts.bytes), offsets: extended, isJson });
  }

  get count(): number {
    return this.#offsets.length - 1;
  }

  /** The texts `[from, to)`; their bytes are not copied. */
  range(from: number, to: number): TextColumn {
    const { bytes, isJson } = this.parts;
    const [start, end] = [this.#offsets[from]!, this.#offsets[to]!];
    const offsets = this.#offsets.subarray(from, to + 1).map((offset) => offset - start);
    return new TextColumn({ bytes: bytes.subarray(start, end), offsets, isJson });
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
