/** Responses with a row for each points total (decision 93). */
import type { Dataset } from '../../dataset/dataset.ts';
import type { PointsQuery } from '../../dataset/query.ts';
import { POINTS_COLUMNS } from '../text/fields.ts';
import { measureFramed, type RowWriter, renderChunks } from '../text/frame.ts';
import type { Admit, PointsBody } from '../text/rendered-body.ts';
import { listFrame, REPRESENTATIONS, type TextRepresentation } from '../text/representations.ts';
import { readAhead } from './batches.ts';
import { type BodySize, bufferedBody, measureSlowly } from './buffered-body.ts';
import type { FragmentCache } from './fragment-cache.ts';
import { heldBytesOfPoints, readPointsPage } from './points-batches.ts';

interface PointsForm {
  readonly representation: TextRepresentation;
  readonly admit: Admit | undefined;
  /** The size of a large response, which never changes: measured if it is not known. */
  measured(measure: () => Promise<BodySize>): Promise<BodySize>;
}

/**
 * The rows of a query, with the position of the last one if it has a limit. A large response is
 * read twice, once to measure and once to send it.
 */
export async function answerPoints(
  dataset: Dataset,
  fragments: FragmentCache,
  query: PointsQuery,
  { representation, admit, measured }: PointsForm,
): Promise<PointsBody> {
  const { notation } = REPRESENTATIONS[representation];
  const frame = listFrame(representation, POINTS_COLUMNS.join());
  const { batches, next, isHeld } = await readPointsPage(dataset, query, fragments, admit);
  if (isHeld) return bufferedBody(frame, await fragments.pointsRows(notation, batches), next);
  const writerOf = await fragments.pointsWriter(notation);
  async function* runs(): AsyncGenerator<RowWriter, void> {
    for await (const batch of readAhead(dataset.points(query))) yield writerOf(batch);
  }
  const size = await measured(async () => {
    let itemBytes = 0;
    let rows = 0;
    for await (const run of runs()) {
      itemBytes += await measureSlowly(run);
      rows += run.count;
    }
    return { rows, byteLength: measureFramed(frame, rows, itemBytes) };
  });
  return {
    ...size,
    next: undefined,
    heldBytes: heldBytesOfPoints(dataset),
    chunks: (memory) => renderChunks(frame, runs(), size.byteLength, memory),
  };
}
