/** Rows in PostgreSQL's binary COPY format come out as they went in, wherever the bytes are cut on their way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ColumnType, readBinary } from '../../src/dataset/postgres/binary-copy.ts';
import { BinaryWriter } from '../../src/dataset/postgres/binary-writer.ts';

type Cell = number | bigint | string;

const INT8 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const TEXT = fc.string({ unit: 'grapheme', maxLength: 40 });
const CELLS = {
  int4: fc.integer(),
  int8: INT8,
  float8: fc.double(),
  text: TEXT,
} satisfies Record<ColumnType, fc.Arbitrary<Cell>>;

interface Table {
  readonly types: readonly ColumnType[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Rows of random types and values. */
function tables(types: readonly ColumnType[], maxRows: number): fc.Arbitrary<Table> {
  return fc
    .array(fc.constantFrom(...types), { minLength: 1, maxLength: 6 })
    .chain((chosen) =>
      fc
        .array(fc.tuple(...chosen.map((type): fc.Arbitrary<Cell> => CELLS[type])), { maxLength: maxRows })
        .map((rows) => ({ types: chosen, rows })),
    );
}

const CUTS = fc.array(fc.nat(), { maxLength: 30 });

/** The format as its manual describes it, written in the plainest way. */
function encoded({ types, rows }: Table): Buffer {
  const parts: Buffer[] = [Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')];
  for (const row of rows) {
    parts.push(int16(types.length));
    for (const [field, value] of row.entries()) {
      const bytes = encodedCell(types[field]!, value);
      parts.push(int32(bytes.length), bytes);
    }
  }
  return Buffer.concat([...parts, int16(-1)]);
}

function encodedCell(type: ColumnType, value: Cell): Buffer {
  if (type === 'text') return Buffer.from(String(value));
  if (type === 'int4') return int32(Number(value));
  const bytes = Buffer.alloc(8);
  if (type === 'int8') bytes.writeBigInt64BE(BigInt(value));
  else bytes.writeDoubleBE(Number(value));
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Bytes in chunks; a cut that comes twice makes an empty one. */
async function* chunked(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  for (let part = 1; part < places.length; part++) yield bytes.subarray(places[part - 1], places[part]);
}

/** What is read, as rows; every batch has 1 to 2,048 of them. */
async function decoded(bytes: Buffer, types: readonly ColumnType[], cuts: readonly number[] = []) {
  const rows: Cell[][] = [];
  for await (const { count, columns } of readBinary(chunked(bytes, cuts), types)) {
    assert.ok(count >= 1 && count <= 2048);
    for (const column of columns) assert.equal(column.length, count);
    for (let row = 0; row < count; row++) rows.push(columns.map((column) => column[row]!));
  }
  return rows;
}

test('rows of all types are read as they were written, cut anywhere', async () => {
  await fc.assert(
    fc.asyncProperty(tables(['int4', 'int8', 'float8', 'text'], 40), CUTS, async (table, cuts) => {
      assert.deepEqual(await decoded(encoded(table), table.types, cuts), table.rows);
    }),
  );
});

test('what the writer writes is the format, and is read again', async () => {
  const writable = fc.record({ table: tables(['int8', 'text'], 20), taken: fc.nat({ max: 20 }), cuts: CUTS });
  await fc.assert(
    fc.asyncProperty(writable, async ({ table, taken, cuts }) => {
      const writer = new BinaryWriter();
      const parts: Buffer[] = [];
      for (const [at, row] of table.rows.entries()) {
        if (at === taken) parts.push(writer.take());
        writer.row(row.length);
        for (const value of row) typeof value === 'string' ? writer.text(value) : writer.int8(value);
      }
      writer.end();
      parts.push(writer.take());
      const bytes = Buffer.concat(parts);
      assert.deepEqual(bytes, encoded(table));
      assert.deepEqual(await decoded(bytes, table.types, cuts), table.rows);
    }),
  );
});

test('integers are written as numbers and as bigints alike', () => {
  const bytes = (write: (writer: BinaryWriter) => void) => {
    const writer = new BinaryWriter();
    write(writer);
    return writer.take();
  };
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      assert.deepEqual(
        bytes((writer) => writer.int8(value)),
        bytes((writer) => writer.int8(BigInt(value))),
      );
    }),
  );
});

test('many rows come in full batches, a long text in one piece', async () => {
  const long = 'zoë '.repeat(300_000);
  const rows = Array.from({ length: 5_000 }, (_, at) => [at, at === 4_000 ? long : `text ${at}`]);
  const table: Table = { types: ['int4', 'text'], rows };
  const bytes = encoded(table);
  const cuts = Array.from({ length: 50 }, (_, at) => Math.trunc((at * bytes.length) / 50));
  assert.deepEqual(await decoded(bytes, table.types, cuts), rows);
  const counts: number[] = [];
  for await (const { count } of readBinary(chunked(bytes, cuts), ['int4', 'text'])) counts.push(count);
  assert.deepEqual(counts, [2048, 2048, 904]);
});

test('batches stay as they are while the next ones are read', async () => {
  const rows = Array.from({ length: 5_000 }, (_, at) => [at]);
  const batches: Int32Array[] = [];
  for await (const { columns } of readBinary(chunked(encoded({ types: ['int4'], rows }), []), ['int4'])) {
    batches.push(columns[0]);
  }
  assert.deepEqual(
    batches.flatMap((batch) => [...batch]),
    rows.flat(),
  );
});

test('an answer that is cut before its trailer fails, wherever', async () => {
  await fc.assert(
    fc.asyncProperty(tables(['int4', 'text'], 10), fc.nat(), CUTS, async (table, length, cuts) => {
      const bytes = encoded(table);
      const cut = bytes.subarray(0, length % bytes.length);
      await assert.rejects(decoded(cut, table.types, cuts), /ended before its trailer/);
    }),
  );
});

test('nulls are refused', async () => {
  for (const nullable of ['int4', 'text'] as const) {
    const writer = new BinaryWriter();
    writer.row(2);
    writer.int8(1n);
    writer.none();
    writer.end();
    await assert.rejects(decoded(writer.take(), ['int8', nullable]), /null/);
  }
});

test('rows of other columns than those expected are refused', async () => {
  const bytes = encoded({ types: ['int8', 'int8'], rows: [[1n, 2n]] });
  await assert.rejects(decoded(bytes, ['int8']), /2 fields/);
  await assert.rejects(decoded(bytes, ['int8', 'int4']), /8 bytes/);
});
