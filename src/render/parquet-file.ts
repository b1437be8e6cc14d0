/**
 * The bytes of a Parquet file (format version 2.x), one row group after the other; what describes them stands at the
 * end. Compressed with Zstandard.
 */
import {
  type ColumnValues,
  type ParquetType,
  PLAIN,
  RLE,
  RLE_DICTIONARY,
  renderColumn,
} from './parquet-pages.ts';
import { binary, i32, i64, list, struct, type ThriftValue, yes } from './thrift.ts';

export interface ParquetColumn {
  readonly name: string;
  readonly type: ParquetType;
  /** Whether rows may have no value. */
  readonly optional?: boolean;
}

const MAGIC = Buffer.from('PAR1');
const FORMAT_VERSION = 2;
const CREATED_BY = 'corkboard';

// Numbers that the format has given.
const INT64 = 2;
const BYTE_ARRAY = 6;
const REQUIRED = 0;
const OPTIONAL = 1;
const ZSTD = 6;

const NOTHING = struct({});
const PHYSICAL: Readonly<Record<ParquetType, number>> = { integer: INT64, instant: INT64, text: BYTE_ARRAY };
/** What the values stand for, in the older form and in the newer one. */
const MEANING: Readonly<Record<ParquetType, Readonly<Record<number, ThriftValue>>>> = {
  integer: {},
  text: { 6: i32(0), 10: struct({ 1: NOTHING }) },
  instant: { 6: i32(9), 10: struct({ 8: struct({ 1: yes, 2: struct({ 1: NOTHING }) }) }) },
};

/** To be asked in this order: `begin`, `rowGroup` any number of times, `end`. */
export class ParquetFile {
  readonly #columns: readonly ParquetColumn[];
  readonly #groups: ThriftValue[] = [];
  #length = 0;
  #rows = 0;

  constructor(columns: readonly ParquetColumn[]) {
    this.#columns = columns;
  }

  begin(): Buffer {
    return this.#count(MAGIC);
  }

  /** So many rows, at least one; their values come column by column in the order of the columns. */
  async *rowGroup(rows: number, columns: AsyncIterable<ColumnValues>): AsyncGenerator<Buffer, void> {
    const chunks: ThriftValue[] = [];
    const beginning = this.#length;
    let uncompressedBytes = 0;
    for await (const values of columns) {
      const column = this.#columns[chunks.length]!;
      const pages = await renderColumn(column.type, column.optional ?? false, values);
      const offset = this.#length;
      const bytes = this.#count(pages.bytes);
      uncompressedBytes += pages.uncompressedBytes;
      const isCoded = pages.dictionaryBytes > 0;
      const description = struct({
        1: i32(PHYSICAL[column.type]),
        2: list([PLAIN, RLE, ...(isCoded ? [RLE_DICTIONARY] : [])].map(i32)),
        3: list([binary(column.name)]),
        4: i32(ZSTD),
        5: i64(rows),
        6: i64(pages.uncompressedBytes),
        7: i64(bytes.length),
        9: i64(offset + pages.dictionaryBytes),
        11: isCoded ? i64(offset) : undefined,
        12: column.type === 'instant' ? extentOf(values) : undefined,
      });
      chunks.push(struct({ 2: i64(offset), 3: description }));
      yield bytes;
    }
    this.#rows += rows;
    const compressedBytes = this.#length - beginning;
    this.#groups.push(
      struct({
        ...{ 1: list(chunks), 2: i64(uncompressedBytes), 3: i64(rows) },
        ...{ 5: i64(beginning), 6: i64(compressedBytes) },
      }),
    );
  }

  end(): Buffer {
    const root = struct({ 4: binary('schema'), 5: i32(this.#columns.length) });
    const { bytes } = struct({
      1: i32(FORMAT_VERSION),
      2: list([root, ...this.#columns.map(describeColumn)]),
      3: i64(this.#rows),
      4: list(this.#groups),
      6: binary(CREATED_BY),
    });
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(bytes.length);
    return this.#count(Buffer.concat([bytes, length, MAGIC]));
  }

  #count(bytes: Buffer): Buffer {
    this.#length += bytes.length;
    return bytes;
  }
}

function describeColumn({ name, type, optional }: ParquetColumn): ThriftValue {
  return struct({
    1: i32(PHYSICAL[type]),
    3: i32(optional === true ? OPTIONAL : REQUIRED),
    4: binary(name),
    ...MEANING[type],
  });
}

/** The smallest and the largest instant, by which readers pass over row groups. They stand in order. */
function extentOf({ values }: ColumnValues): ThriftValue {
  const [smallest, largest] = [values[0], values[values.length - 1]].map((value) => {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeBigInt64LE(BigInt(value ?? 0));
    return binary(bytes);
  });
  return struct({ 3: i64(0), 5: largest, 6: smallest });
}
