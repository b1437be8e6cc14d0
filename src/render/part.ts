/** What of a large answer lies in one memory: a piece, or several side by side as one. */
import { Joiner } from './packing.ts';
import type { Packed, Packing } from './render-job.ts';

export interface Part extends Packed {
  /** The same bytes, behind those that stand between two pieces. */
  readonly behindBetween?: Uint8Array;
}

/** Pieces that were read into a memory, with room before each, as one. */
export function joinInMemory(
  pieces: readonly Packed[],
  packing: Packing,
  between: Packed,
  memory: SharedArrayBuffer,
): Part {
  const joiner = new Joiner(packing);
  const gapBytes = between.bytes.length;
  let end = 0;
  for (const piece of pieces) {
    new Uint8Array(memory, end, gapBytes).set(between.bytes);
    end += gapBytes + piece.bytes.length;
    if (joiner.plainBytes > 0) joiner.add(between);
    joiner.add(piece);
  }
  const behindBetween = new Uint8Array(memory, 0, end);
  const { plainBytes, crc } = joiner;
  return { bytes: behindBetween.subarray(gapBytes), plainBytes, crc, behindBetween };
}
