/** Responses whose items are in memory already. */
import { inSlices } from '../../system/time-slice.ts';
import type { Chunk } from '../text/chunk.ts';
import { type Frame, measureFramed, measureRun, type RowWriter, renderHeld } from '../text/frame.ts';
import type { RenderedBody } from '../text/rendered-body.ts';
import { HELD_BYTES } from './admission.ts';

/** Rows between two checks of the clock. */
const MEASURED_AT_ONCE = 2048;

/** The size of a response and the number of its rows. */
export interface BodySize {
  readonly byteLength: number;
  readonly rows: number;
}

/** A response of one run. It can be long, so it is measured in time slices. */
export async function longBody<Next>(
  frame: Frame,
  run: RowWriter,
  next: Next | undefined,
): Promise<RenderedBody<Next>> {
  return bodyOf(frame, [run], await measureSlowly(run), next);
}

/** Bytes of the items of a run, in time slices. */
export async function measureSlowly(run: RowWriter): Promise<number> {
  let itemBytes = 0;
  const measure = (from: number, to: number) => {
    for (let row = from; row < to; row++) itemBytes += run.size(row);
  };
  await inSlices(0, run.count, measure, MEASURED_AT_ONCE);
  return itemBytes;
}

/**
 * A response of a few runs, measured without yielding. It reads nothing more and needs no release.
 */
export function bufferedBody<Next>(
  frame: Frame,
  runs: readonly RowWriter[],
  next: Next | undefined,
): RenderedBody<Next> {
  const itemBytes = runs.reduce((sum, run) => sum + measureRun(run), 0);
  return bodyOf(frame, runs, itemBytes, next);
}

function bodyOf<Next>(
  frame: Frame,
  runs: readonly RowWriter[],
  itemBytes: number,
  next: Next | undefined,
): RenderedBody<Next> {
  const rows = runs.reduce((sum, run) => sum + run.count, 0);
  const byteLength = measureFramed(frame, rows, itemBytes);
  const heldBytes = Math.min(byteLength, HELD_BYTES);
  const chunks = (memory?: Chunk) => renderHeld(frame, runs, byteLength, memory);
  return { byteLength, next, rows, heldBytes, chunks };
}
