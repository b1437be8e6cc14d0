/** The Parquet writer: difficult values, many row groups, and the memory that it holds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { EventBatch, EventQuery } from '../../src/dataset/query.ts';
import { openRendering } from '../../src/render/rendering.ts';
import { EVERYTHING } from './large-world.ts';
import { readParquetRows, rowsOfJson } from './parquet-rows.ts';
import { PlainDataset } from './plain-dataset.ts';
import { textOf } from './reference.ts';
import { anyWorld, NO_REDACTION, worldOf } from './worlds.ts';

async function bytesOf(answer: { pieces(): AsyncIterable<Uint8Array> }): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.pieces()) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('events, boards and users of every world are read back with the values of the JSON response', async () => {
  const property = fc.asyncProperty(anyWorld, fc.constantFrom('a', 'b'), async (world, variant) => {
    const rendering = openRendering(new PlainDataset(world), NO_REDACTION);
    const json = await textOf(await rendering.events(EVERYTHING, 'json'));
    const { rows } = await readParquetRows(await bytesOf(await rendering.tables.events(EVERYTHING)));
    // Half of a surrogate pair cannot be encoded in UTF-8.
    assert.deepEqual(rows, rowsOfJson(json).map(wellFormed));
    for (const list of ['boards', 'users'] as const) {
      const listed = await textOf(await rendering.list(list, EVERYTHING, variant, 'json'));
      const table = await readParquetRows(
        await bytesOf(await rendering.tables.list(list, EVERYTHING, variant)),
      );
      assert.deepEqual(table.rows, rowsOfJson(listed).map(wellFormed));
    }
  });
  await fc.assert(property, { numRuns: 40 });
});

function wellFormed(row: readonly (string | bigint | null)[]) {
  return row.map((value) => (typeof value === 'string' ? value.toWellFormed() : value));
}

test('columns have the types of their values', async () => {
  const rendering = openRendering(new PlainDataset(worldOf(3)), NO_REDACTION);
  const { columns } = await readParquetRows(await bytesOf(await rendering.tables.events(EVERYTHING)));
  for (const [name, type] of columns) {
    const expected =
      name === 'timestamp' ? 'TIMESTAMP WITH TIME ZONE' : /id$/.test(name) ? 'BIGINT' : 'VARCHAR';
    assert.equal(type, expected, name);
  }
  assert.equal(columns.length, 27);
});

const BATCH = 2_048;
const BATCHES = 100;
const EVENTS = BATCH * BATCHES;
/** Events of a row group, plus the batch that did not fit into it. */
const MOST_HELD = 65_536 + BATCH;

/** More than 200,000 events, generated while they are read. */
class LongDataset extends PlainDataset {
  read = 0;
  readonly #pins: number;

  constructor(pins: number) {
    super({ ...worldOf(0), pins: Array.from({ length: pins }, (_, at) => pinOf(at)) });
    this.#pins = pins;
  }

  override async *events(_query: EventQuery): AsyncGenerator<EventBatch> {
    for (let at = 0; at < EVENTS; at += BATCH) {
      const rows = Int32Array.from({ length: BATCH }, (_, row) => at + row);
      this.read += BATCH;
      yield {
        count: BATCH,
        kind: rows.map((row) => (row % 5 === 0 ? 1 : 0)),
        actor: rows.map((row) => row % 3),
        owner: rows.map((row) => row % 2),
        board: rows.map((row) => Math.floor(row / 1000) % 3),
        pin: rows.map((row) => (row % 5 === 0 ? -1 : row % this.#pins)),
        timestampMs: Float64Array.from(rows, (row) => row * 1000 - 50_000),
        sequence: Float64Array.from(rows, (row) => row + 1),
      };
    }
  }
}

function pinOf(at: number) {
  const texts = { webUrl: '', imageUrl: '', tags: [`${at % 7}`] };
  return { id: BigInt(at), title: `Pin ${at}`, body: `${at} `.repeat(20), ...texts };
}

test('a long response is complete, and is made one row group at a time', async () => {
  const dataset = new LongDataset(30_000);
  const rendering = openRendering(dataset, NO_REDACTION);
  const pieces: Uint8Array[] = [];
  let behind = 0;
  let left = 0;
  for await (const piece of (await rendering.tables.events(EVERYTHING)).pieces()) {
    // In addition to the metadata, only events read since the previous piece can be in memory.
    behind = Math.max(behind, dataset.read - left);
    left = dataset.read;
    pieces.push(piece);
    assert.ok(piece.length < 4 * 1024 * 1024);
  }
  assert.ok(behind <= MOST_HELD + 2 * BATCH, `${behind} events were held`);
  const bytes = Buffer.concat(pieces);
  const { rows } = await readParquetRows(
    bytes,
    `SELECT count(*), count(pin_id), sum(pin_id), sum(owner_id % 1000), sum(actor_id % 1000), sum(board_id % 1000),
       count(*) FILTER (pin_title = 'Pin ' || pin_id), count(*) FILTER (epoch_ms(timestamp) = place * 1000 - 50000)
     FROM (SELECT *, row_number() OVER () - 1 AS place FROM $FILE)`,
  );
  const ids = [1n, 2n ** 53n + 1n, 2n ** 63n - 1n].map((id) => Number(id % 1000n));
  const all = Array.from({ length: EVENTS }, (_, row) => row);
  const pinned = all.filter((row) => row % 5 !== 0);
  const sum = (values: readonly number[]) => String(values.reduce((total, value) => total + value, 0));
  assert.deepEqual(rows[0]?.map(String), [
    String(EVENTS),
    String(pinned.length),
    sum(pinned.map((row) => row % 30_000)),
    sum(all.map((row) => ids[row % 2]!)),
    sum(all.map((row) => ids[row % 3]!)),
    sum(all.map((row) => ids[Math.floor(row / 1000) % 3]!)),
    String(pinned.length),
    String(EVENTS),
  ]);
});

test('row groups do not depend on batches, so that every store gives the same bytes', async () => {
  const [few, many] = await Promise.all(
    [3, 40].map(async (batch) => {
      const rendering = openRendering(new PlainDataset(worldOf(40, 5_000_000), batch), NO_REDACTION);
      return await bytesOf(await rendering.tables.events(EVERYTHING));
    }),
  );
  assert.ok(few?.equals(many ?? Buffer.alloc(0)));
  const groups = await readParquetRows(few ?? new Uint8Array(), 'SELECT count(*) FROM $FILE');
  assert.deepEqual(groups.rows, [[40n]]);
});

test('a row group has its minimum and maximum values, so that readers can skip it', async () => {
  const rendering = openRendering(new LongDataset(300), NO_REDACTION);
  const bytes = await bytesOf(await rendering.tables.events(EVERYTHING));
  const columns = "path_in_schema IN ('timestamp', 'board_id', 'pin_title', 'type')";
  const { rows: groups } = await readParquetRows(
    bytes,
    `SELECT path_in_schema, row_group_id, stats_min_value, stats_max_value, stats_null_count
     FROM parquet_metadata('$PATH') WHERE ${columns} ORDER BY 1, 2`,
  );
  const told = (column: string) => groups.filter(([path]) => path === column).map((group) => group.slice(2));
  const most = (at: number) => Math.min(EVENTS, at + 65_536) - 1;
  const instant = (row: number) => new Date(row * 1000 - 50_000).toISOString().slice(0, 19).replace('T', ' ');
  assert.deepEqual(
    told('timestamp').map(([first, last]) => [String(first).slice(0, 19), String(last).slice(0, 19)]),
    [0, 65_536, 131_072, 196_608].map((at) => [instant(at), instant(most(at))]),
  );
  for (const [first, last] of told('board_id'))
    assert.deepEqual([first, last], ['1', String(2n ** 63n - 1n)]);
  for (const [first, last] of told('pin_title')) assert.deepEqual([first, last], ['Pin 1', 'Pin 99']);
  for (const [first, last] of told('type')) assert.deepEqual([first, last], ['board', 'pin']);
  // A reader that skips row groups does not notice that all but the last are overwritten.
  const { rows } = await readParquetRows(
    bytes,
    "SELECT min(dictionary_page_offset) FROM parquet_metadata('$PATH') WHERE row_group_id = 3",
  );
  bytes.fill(0xff, 4, Number(rows[0]?.[0]));
  const after = `SELECT count(*), count(DISTINCT pin_title) FROM $FILE WHERE timestamp >= TIMESTAMPTZ '${instant(196_608)}+00'`;
  assert.deepEqual((await readParquetRows(bytes, after)).rows, [[BigInt(EVENTS - 196_608), 240n]]);
  await assert.rejects(readParquetRows(bytes, 'SELECT count(DISTINCT pin_title) FROM $FILE'));
});

test('the bounds of long texts are truncated, and are still bounds', async () => {
  const body = `${'z'.repeat(40)}é`;
  const world = { ...worldOf(9), pins: worldOf(9).pins.map((pin) => ({ ...pin, body })) };
  const rendering = openRendering(new PlainDataset(world), NO_REDACTION);
  const { rows } = await readParquetRows(
    await bytesOf(await rendering.tables.events(EVERYTHING)),
    `SELECT stats_min_value <= '${body}', stats_max_value >= '${body}', length(stats_max_value) < 40
     FROM parquet_metadata('$PATH') WHERE path_in_schema = 'pin_body'`,
  );
  assert.deepEqual(rows, [['true', 'true', 'true']]);
});
