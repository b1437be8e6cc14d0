/** What of a large answer lies in one memory: a piece, or several that are kept one behind the other, as one. */
import { Joiner } from './packing.ts';
import type { Packed, Packing } from './render-job.ts';
import type { Kept } from './spool.ts';

export interface Part extends Packed {
  /** The same bytes, behind those that stand between two pieces. */
  readonly behindBetween?: Uint8Array;
}

/** How pieces are put together. */
export interface Joint {
  readonly packing: Packing;
  /** What stands between two of them. */
  readonly between: Packed;
}

/** `bytes` are those of the pieces, each behind what stands between two. */
export function joinKept(pieces: readonly Kept[], bytes: Uint8Array, { packing, between }: Joint): Part {
  const joiner = new Joiner(packing);
  for (const piece of pieces) {
    if (joiner.plainBytes > 0) joiner.count(between);
    joiner.count(piece);
  }
  const { plainBytes, crc } = joiner;
  return { bytes: bytes.subarray(between.bytes.length), plainBytes, crc, behindBetween: bytes };
}
