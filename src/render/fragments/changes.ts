/**
 * Events for clients that keep a table in sync (decision 19): each event has a `sync_id`, which is
 * stable and opaque. Users who were forgotten come first, then events that were deleted. The sync
 * token comes last, for clients that keep it from the items (decision 99).
 */
import { createCipheriv, hkdfSync } from 'node:crypto';
import type { Dataset } from '../../dataset/dataset.ts';
import type { EventBatch, EventPosition, EventQuery } from '../../dataset/query.ts';
import { AppError } from '../../domain/app-error.ts';
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
 * More deleted events are not listed: they are held in memory, and a new copy costs the client no
 * more.
 */
const MOST_DELETED = 100_000;

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

  /** Sync ids by row, for the first `count` sequences. */
  of(sequences: Float64Array, count = sequences.length): string[] {
    const blocks = Buffer.alloc(count * BLOCK_BYTES);
    for (let row = 0; row < count; row++) blocks.writeDoubleBE(sequences[row]!, row * BLOCK_BYTES);
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
  const named = names.of(batch.sequence, batch.count);
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

/** The users who were forgotten, by id, and the sync ids of deleted events. */
function goneRun(forgotten: readonly bigint[], deleted: readonly string[]): RowWriter {
  return textRun([
    ...forgotten.map((id) => `{"forgotten":{"user":${id}}}`),
    ...deleted.map((name) => `{"sync_id":"${name}","deleted":true}`),
  ]);
}

/** `items` are ASCII. */
function textRun(items: readonly string[]): RowWriter {
  return {
    count: items.length,
    size: (row) => items[row]!.length,
    write: (row, chunk) => chunk.appendAscii(items[row]!),
  };
}

export interface AskedChanges {
  /** `lastSequence` of the version that the client has; absent: none. */
  readonly since: number | undefined;
  readonly representation: ChangesRepresentation;
  /** The sync token, if the last page ends with it. */
  readonly token?: string | undefined;
  readonly admit?: Admit | undefined;
}

/**
 * As `Rendering.changes`. `makeParts` makes the parts for JSON. The sync token is not counted as a
 * row.
 */
export async function answerChanges(
  dataset: Dataset,
  makeParts: () => Promise<EventParts>,
  names: EventNames,
  query: EventQuery,
  { since, representation, token, admit }: AskedChanges,
): Promise<EventsBody> {
  const frame = listFrame(representation, EVENT_COLUMNS);
  const end = textRun(token === undefined ? [] : [`{"sync_token":"${token}"}`]);
  // Usually nothing has changed, which is known without reading any data.
  if (since !== undefined && since >= dataset.lastSequence)
    return { ...bufferedBody<EventPosition>(frame, [end], undefined), rows: 0 };
  const asked = since === undefined ? query : { ...query, since: await dataset.revisions(since) };
  // Only the first page lists what is gone.
  const tells = since !== undefined && query.after === undefined;
  const gone = tells ? await readGone(dataset, names, query, since) : goneRun([], []);
  const { page, isHeld } = await readAdmitted(dataset, asked, admit);
  const parts = await makeParts();
  const changed = (batch: EventBatch) => changedRun(parts, batch, names);
  if (isHeld) {
    const changes = [gone, ...page.batches.map(changed)];
    const rows = changes.reduce((sum, run) => sum + run.count, 0);
    const runs = page.next === undefined ? [...changes, end] : changes;
    return { ...bufferedBody(frame, runs, page.next), rows };
  }
  const tally = await dataset.tally(asked);
  const itemBytes = measureRun(gone) + (await parts.measure(tally)) + SYNC_BYTES * tally.events;
  const rows = gone.count + tally.events;
  const byteLength = measureFramed(frame, rows + end.count, itemBytes + measureRun(end));
  async function* runs(): AsyncGenerator<RowWriter, void> {
    yield gone;
    for await (const batch of readAhead(dataset.events(asked))) yield changed(batch);
    yield end;
  }
  const chunks = (memory?: Chunk) => renderChunks(frame, runs(), byteLength, memory);
  return { byteLength, next: undefined, rows, heldBytes: heldBytesOf(dataset), chunks };
}

/** Throws `since-invalid` if too many events were deleted. */
async function readGone(
  dataset: Dataset,
  names: EventNames,
  query: EventQuery,
  since: number,
): Promise<RowWriter> {
  const deleted = await dataset.deletedEvents(query, since, MOST_DELETED + 1);
  if (deleted.length > MOST_DELETED) {
    throw new AppError(
      'since-invalid',
      `More than ${MOST_DELETED.toLocaleString('en')} events were deleted since this sync token. Start again with since=start and an empty table.`,
    );
  }
  return goneRun(await dataset.forgotten(query.scope, since), names.of(deleted));
}
