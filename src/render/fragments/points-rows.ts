/** Responses with a row for each points total (decision 93). */
import type { Dataset } from '../../dataset/dataset.ts';
import type { PointsQuery } from '../../dataset/query.ts';
import { POINTS_COLUMNS } from '../text/fields.ts';
import { measureFramed, type RowWriter, renderChunks } from '../text/frame.ts';
import type { Admit, PointsBody } from '../text/rendered-body.ts';
import { listFrame, REPRESENTATIONS, type TextRepresentation } from '../text/representations.ts';
import { HELD_BYTES, heldBytesOf } from './admission.ts';
import { type BodySize, bufferedBody, measureSlowly } from './buffered-body.ts';
import type { FragmentCache } from './fragment-cache.ts';
import { readPoints, readPointsPage, seenIds } from './points-batches.ts';

/** A response of at most this number of rows is held as columns; a larger one is measured first. */
export const HELD_POINTS = 2048;

interface PointsForm {
  readonly representation: TextRepresentation;
  readonly admit: Admit | undefined;
  /** The size of a large response, which never changes: measured if it is not known. */
  measured(measure: () => Promise<BodySize>): Promise<BodySize>;
}

/**
 * The rows of a query, with the position of the last one if it has a limit. A large response is
 * read board by board, once to measure and once to send it.
 */
export async function answerPoints(
  dataset: Dataset,
  fragments: FragmentCache,
  query: PointsQuery,
  { representation, admit, measured }: PointsForm,
): Promise<PointsBody> {
  const { notation } = REPRESENTATIONS[representation];
  const frame = listFrame(representation, POINTS_COLUMNS.join());
  const ids = () => seenIds(fragments);
  const { batches, next } = await readPointsPage(dataset, query, query.limit ?? HELD_POINTS, ids);
  const isHeld = query.limit !== undefined || next === undefined;
  const rows = batches.reduce((sum, { count }) => sum + count, 0);
  if (!isHeld || rows > HELD_POINTS) await admit?.(isHeld ? HELD_BYTES : heldBytesOf(dataset));
  if (isHeld) {
    const runs: RowWriter[] = [];
    for (const batch of batches) runs.push(await fragments.pointsRows(notation, batch));
    return bufferedBody(frame, runs, next);
  }
  async function* runs(): AsyncGenerator<RowWriter, void> {
    for await (const batch of readPoints(dataset, query, ids)) yield fragments.pointsRows(notation, batch);
  }
  const size = await measured(async () => {
    let itemBytes = 0;
    let items = 0;
    for await (const run of runs()) {
      itemBytes += await measureSlowly(run);
      items += run.count;
    }
    return { rows: items, byteLength: measureFramed(frame, items, itemBytes) };
  });
  return {
    ...size,
    next: undefined,
    heldBytes: heldBytesOf(dataset),
    chunks: (memory) => renderChunks(frame, runs(), size.byteLength, memory),
  };
}
