/**
 * Events for clients that keep a table in sync (decision 19): each event has a `sync_id`, which is
 * stable and opaque. The users who were forgotten come first.
 */
import { createCipheriv, hkdfSync } from 'node:crypto';
import type { Dataset } from '../../dataset/dataset.ts';
import type { EventBatch, EventPosition, EventQuery } from '../../dataset/query.ts';
import type { Chunk } from '../text/chunk.ts';
import { measureFramed, measureRun, type RowWriter, renderChunks } from '../text/frame.ts';
import type { Admit, EventsBody } from '../text/rendered-body.ts';
import { type ChangesRepresentation, listFrame } from '../text/representations.ts';
import { heldBytesOf, readAdmitted } from './admission.ts';
import { readAhead } from './batches.ts';
import { bufferedBody } from './buffered-body.ts';
import { EVENT_COLUMNS } from './event-form.ts';
import type { EventParts } from './event-writer.ts';

const BEFORE_NAME = ',"sync_id":"';
const AFTER_NAME = '"}';
/** The brace that ends an event is moved after its sync id. */
const END_BYTES = 1;
const BLOCK_BYTES = 16;
/** Length of a block in base64url, without padding. */
const NAME_BYTES = 22;

/** Bytes that the sync id adds to an event. */
const SYNC_BYTES = BEFORE_NAME.length + NAME_BYTES + AFTER_NAME.length - END_BYTES;

/**
 * Sync ids of events: each is the sequence, encrypted as one block under a key derived from the
 * secret of the organization. Plain sequences would reveal how many events are published that the
 * key may not see (decision 12).
 */
export class EventNames {
  readonly #secret: Buffer;

  /** `secret` is the secret of the organization. */
  constructor(secret: Uint8Array) {
    this.#secret = Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), 'corkboard event name', 32));
  }

  /** Sync ids by row. */
  of({ count, sequence }: EventBatch): string[] {
    const blocks = Buffer.alloc(count * BLOCK_BYTES);
    for (let row = 0; row < count; row++) blocks.writeDoubleBE(sequence[row]!, row * BLOCK_BYTES);
    const cipher = createCipheriv('aes-256-ecb', this.#secret, null).setAutoPadding(false);
    const sealed = cipher.update(blocks);
    return Array.from({ length: count }, (_, row) =>
      sealed.toString('base64url', row * BLOCK_BYTES, (row + 1) * BLOCK_BYTES),
    );
  }
}

/** Events in JSON with their sync ids. */
function changedRun(parts: EventParts, batch: EventBatch, names: EventNames): RowWriter {
  const run = parts.run(batch);
  const named = names.of(batch);
  return {
    // `writeMany` is left out, because it would write events without their sync ids.
    count: run.count,
    largest: parts.shared.largest + SYNC_BYTES,
    size: (row) => run.size(row) + SYNC_BYTES,
    write(row: number, chunk: Chunk) {
      run.write(row, chunk);
      chunk.length -= END_BYTES;
      chunk.appendAscii(BEFORE_NAME);
      chunk.appendAscii(named[row]!);
      chunk.appendAscii(AFTER_NAME);
    },
  };
}

/** The users who were forgotten, by id. */
function forgottenRun(ids: readonly bigint[]): RowWriter {
  const items = ids.map((id) => `{"forgotten":{"user":${id}}}`);
  return {
    count: items.length,
    size: (row) => items[row]!.length,
    write: (row, chunk) => chunk.appendAscii(items[row]!),
  };
}

interface AskedChanges {
  readonly since: number | undefined;
  readonly representation: ChangesRepresentation;
  readonly admit: Admit | undefined;
}

/** As `Rendering.changes`. `makeParts` makes the parts for JSON. */
export async function answerChanges(
  dataset: Dataset,
  makeParts: () => Promise<EventParts>,
  names: EventNames,
  query: EventQuery,
  { since, representation, admit }: AskedChanges,
): Promise<EventsBody> {
  const frame = listFrame(representation, EVENT_COLUMNS);
  // Usually nothing has changed, which is known without reading any data.
  if (since !== undefined && since >= dataset.lastSequence)
    return bufferedBody<EventPosition>(frame, [], undefined);
  const asked = since === undefined ? query : { ...query, since: await dataset.revisions(since) };
  // Only the first page lists the users who were forgotten.
  const tells = since !== undefined && query.after === undefined;
  const forgotten = forgottenRun(tells ? await dataset.forgotten(query.scope, since) : []);
  const { page, isHeld } = await readAdmitted(dataset, asked, admit);
  const parts = await makeParts();
  const changed = (batch: EventBatch) => changedRun(parts, batch, names);
  if (isHeld) return bufferedBody(frame, [forgotten, ...page.batches.map(changed)], page.next);
  const tally = await dataset.tally(asked);
  const itemBytes = measureRun(forgotten) + (await parts.measure(tally)) + SYNC_BYTES * tally.events;
  const byteLength = measureFramed(frame, forgotten.count + tally.events, itemBytes);
  async function* runs(): AsyncGenerator<RowWriter, void> {
    yield forgotten;
    for await (const batch of readAhead(dataset.events(asked))) yield changed(batch);
  }
  const chunks = (memory?: Chunk) => renderChunks(frame, runs(), byteLength, memory);
  return { byteLength, next: undefined, heldBytes: heldBytesOf(dataset), chunks };
}
