/**
 * The bytes of a Parquet file, one row group after the other, written by `hyparquet-writer`
 * (decision 17). It does not yield, so it belongs on the render thread.
 */
import { constants as zlib, zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { TextColumn, type TextParts } from '../../dataset/text-column.ts';

/** The maximum number of rows of a row group. */
const MOST_ROWS = 65_536;
/**
 * A row group ends when the texts of its records reach this number of bytes; the row that reaches
 * it is included.
 */
const MOST_BYTES = 16 * 1024 * 1024;

/** A column of records, to which rows refer by index. */
export interface ParquetColumn {
  readonly name: string;
  /** Which of the indices of a row refers to this column. */
  readonly section: number;
  /** Whether rows may have no value. */
  readonly optional: boolean;
  readonly values: BigInt64Array | TextParts;
}

/** The schema and the records of a file; it can be sent to a different thread. */
export interface ParquetTable {
  readonly columns: readonly ParquetColumn[];
  /** Names of columns that follow: whole numbers that are not those of records. */
  readonly numbers?: readonly string[];
  /** Whether a timestamp column follows. */
  readonly hasTimestamp: boolean;
}

export interface ParquetRows {
  readonly count: number;
  /** By section, then by row: the index of a record, -1 for none. */
  readonly indices: readonly Int32Array[];
  /** By column of numbers, then by row. */
  readonly numbers?: readonly Float64Array[];
  /** Unix milliseconds. */
  readonly timestampMs?: Float64Array;
}

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];

const ZSTD = { params: { [zlib.ZSTD_c_compressionLevel]: 1 } };
const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
const INTEGER = { type: 'INT64', repetition_type: 'REQUIRED' } as const;
const TIMESTAMP = {
  name: 'timestamp',
  type: 'INT64',
  repetition_type: 'REQUIRED',
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
} as const;

export class ParquetFile {
  readonly #columns: readonly FileColumn[];
  readonly #sections: readonly Section[];
  readonly #numbers: readonly NumberColumn[];
  readonly #timestampMs: Float64Array | undefined;
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;
  /** The number of rows in the current row group. */
  #rows = 0;

  constructor({ columns, numbers = [], hasTimestamp }: ParquetTable) {
    this.#columns = columns.map((column) => new FileColumn(column));
    this.#sections = sectionsOf(this.#columns);
    this.#numbers = numbers.map((name) => ({ name, values: new Float64Array(MOST_ROWS) }));
    this.#timestampMs = hasTimestamp ? new Float64Array(MOST_ROWS) : undefined;
    const described = [
      ...this.#columns.map(({ schema }) => schema),
      ...numbers.map((name) => ({ ...INTEGER, name })),
      ...(hasTimestamp ? [TIMESTAMP] : []),
    ];
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: [{ name: 'schema', num_children: described.length }, ...described],
      codec: 'ZSTD',
      compressors: { ZSTD: (bytes) => zstdCompressSync(bytes, ZSTD) },
      createdBy: 'corkboard',
    });
  }

  add({ count, indices, numbers, timestampMs }: ParquetRows): void {
    for (let row = 0; row < count; row++) {
      let bytes = 0;
      for (const [at, section] of this.#sections.entries()) {
        section.add(this.#rows, indices[at]![row]!);
        bytes += section.bytes;
      }
      for (const [at, { values }] of this.#numbers.entries()) values[this.#rows] = numbers![at]![row]!;
      if (this.#timestampMs !== undefined) this.#timestampMs[this.#rows] = timestampMs![row]!;
      this.#rows += 1;
      if (this.#rows === MOST_ROWS || bytes >= MOST_BYTES) this.#writeGroup();
    }
  }

  /** Writes the last row group and the footer. Nothing can be added afterwards. */
  end(): void {
    if (this.#rows > 0) this.#writeGroup();
    void this.#writer.finish();
  }

  /** The bytes that have been written since the last call. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#bytes.getBytes());
    this.#bytes.index = 0;
    return bytes;
  }

  #writeGroup(): void {
    const rows = this.#rows;
    const sections = this.#sections;
    const columnData = this.#columns.map((column) => ({
      name: column.schema.name,
      encoding: 'RLE_DICTIONARY' as const,
      // Made when the writer reaches the column, so that only one column is in memory at a time.
      get data() {
        return column.data(sections[column.section]!, rows);
      },
    }));
    const integers = this.#numbers.map(({ name, values }) => ({
      name,
      data: BigInt64Array.from(values.subarray(0, rows), BigInt),
    }));
    const instants = this.#timestampMs?.subarray(0, rows);
    const timestamps = instants && { name: TIMESTAMP.name, data: BigInt64Array.from(instants, BigInt) };
    // The writer writes to memory, so there is nothing to wait for.
    void this.#writer.write({
      columnData: [...columnData, ...integers, ...(timestamps === undefined ? [] : [timestamps])],
      rowGroupSize: rows,
    });
    for (const section of this.#sections) section.clear();
    this.#rows = 0;
  }
}

interface NumberColumn {
  readonly name: string;
  readonly values: Float64Array;
}

class FileColumn {
  readonly section: number;
  readonly schema: Schema[number];
  readonly count: number;
  readonly #values: BigInt64Array | TextColumn;

  constructor({ name, section, optional, values }: ParquetColumn) {
    this.section = section;
    const type = values instanceof BigInt64Array ? ({ type: 'INT64' } as const) : TEXT;
    this.schema = { ...type, name, repetition_type: optional ? 'OPTIONAL' : 'REQUIRED' };
    this.#values = values instanceof BigInt64Array ? values : new TextColumn(values);
    this.count = values instanceof BigInt64Array ? values.length : values.offsets.length - 1;
  }

  size(index: number): number {
    return this.#values instanceof TextColumn ? this.#values.size(index) : 0;
  }

  /** The values of the rows; each record is read only once. */
  data({ indices, places }: Section, rows: number): unknown[] {
    const column = this.#values;
    const values = indices.map((index) => (column instanceof TextColumn ? column.at(index) : column[index]));
    const data = new Array<unknown>(rows);
    for (let row = 0; row < rows; row++) data[row] = values[places[row]!];
    return data;
  }
}

/** The distinct records of a row group, in order of first use, and the record of each row. */
class Section {
  readonly indices: number[] = [];
  /** By row: position in `indices`, -1 for none. */
  readonly places = new Int32Array(MOST_ROWS);
  /** Bytes of the texts of these records. */
  bytes = 0;
  readonly #columns: readonly FileColumn[];
  /** By index: 1 + position of the record in `indices`; 0 if it is not in this row group. */
  readonly #known: Int32Array;

  constructor(columns: readonly FileColumn[]) {
    this.#columns = columns;
    this.#known = new Int32Array(columns[0]?.count ?? 0);
  }

  add(row: number, index: number): void {
    if (index >= 0 && this.#known[index] === 0) {
      this.indices.push(index);
      this.#known[index] = this.indices.length;
      for (const column of this.#columns) this.bytes += column.size(index);
    }
    this.places[row] = index < 0 ? -1 : this.#known[index]! - 1;
  }

  clear(): void {
    for (const index of this.indices.splice(0)) this.#known[index] = 0;
    this.bytes = 0;
  }
}

function sectionsOf(columns: readonly FileColumn[]): Section[] {
  const count = Math.max(...columns.map(({ section }) => section)) + 1;
  return Array.from(
    { length: count },
    (_, at) => new Section(columns.filter(({ section }) => section === at)),
  );
}
