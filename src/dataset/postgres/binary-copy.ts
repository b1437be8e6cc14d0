/**
 * PostgreSQL's binary COPY format, read into columns: a header, then for each row the number of its
 * fields and each field with its length, all big-endian, and a trailer.
 */
export type ColumnType = 'int4' | 'int8' | 'float8' | 'text';

interface ColumnOf {
  readonly int4: Int32Array;
  readonly int8: BigInt64Array;
  readonly float8: Float64Array;
  readonly text: string[];
}

export interface Columns<T extends readonly ColumnType[]> {
  readonly count: number;
  /** One for each type, in order, with `count` values. */
  readonly columns: { readonly [I in keyof T]: ColumnOf[T[I]] };
}

const BATCH_ROWS = 2048;

export const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** Signature, flags and the length of what may follow the header. */
export const HEADER_BYTES = SIGNATURE.length + 8;
export const TRAILER = -1;

/** Rows of the given types as columns, at most 2,048 rows at a time, none empty. Nulls are not expected and refused. */
export async function* readBinary<const T extends readonly ColumnType[]>(
  source: AsyncIterable<Buffer>,
  types: T,
): AsyncGenerator<Columns<T>> {
  const reader = new RowReader(types);
  let rest: Buffer = Buffer.alloc(0);
  let at = HEADER_BYTES;
  for await (const chunk of source) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (at < bytes.length) {
      const end = reader.read(bytes, at);
      if (reader.isFull) yield reader.take() as Columns<T>;
      if (end === at) break;
      at = end;
    }
    const used = Math.min(at, bytes.length);
    rest = bytes.subarray(used);
    at -= used;
  }
  if (!reader.ended) throw new Error('a binary COPY ended before its trailer');
  if (reader.count > 0) yield reader.take() as Columns<T>;
}

type Column = Int32Array | BigInt64Array | Float64Array | string[];

/** Bytes of a field, where every value has the same. */
const WIDTHS = { int4: 4, int8: 8, float8: 8, text: undefined } as const;

class RowReader {
  readonly #types: readonly ColumnType[];
  readonly #widths: readonly (number | undefined)[];
  /** Where the values of the rows that are read begin, row after row. */
  readonly #places: Int32Array;
  #columns: Column[];
  count = 0;
  ended = false;

  constructor(types: readonly ColumnType[]) {
    this.#types = types;
    this.#widths = types.map((type) => WIDTHS[type]);
    this.#places = new Int32Array(BATCH_ROWS * types.length);
    this.#columns = types.map(emptyColumn);
  }

  get isFull(): boolean {
    return this.count === BATCH_ROWS;
  }

  /** Reads whole rows from a place on until it is full, and answers where the next row begins. */
  read(bytes: Buffer, at: number): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let rows = 0;
    let from = at;
    while (this.count + rows < BATCH_ROWS && !this.ended) {
      const end = this.#walk(view, from, rows);
      if (end === undefined) break;
      from = end;
      rows += 1;
    }
    // Column by column, because a loop that meets one type only is several times as fast.
    for (const [field, column] of this.#columns.entries()) this.#set(column, field, rows, bytes, view);
    this.count += rows;
    return from;
  }

  take(): Columns<readonly ColumnType[]> {
    const { count } = this;
    const columns = this.#columns.map((column) =>
      Array.isArray(column) ? column : column.subarray(0, count),
    );
    this.#columns = this.#types.map(emptyColumn);
    this.count = 0;
    return { count, columns: columns as ColumnOf[ColumnType][] };
  }

  /** Notes where the values of a row are, and answers where it ends; absent when not all of it is there, or none is left. */
  #walk(view: DataView, at: number, row: number): number | undefined {
    const widths = this.#widths;
    if (at + 2 > view.byteLength) return undefined;
    const fields = view.getInt16(at);
    if (fields === TRAILER) {
      this.ended = true;
      return undefined;
    }
    if (fields !== widths.length) throw new Error(`a row of ${fields} fields in place of ${widths.length}`);
    let end = at + 2;
    for (let field = 0; field < fields; field++) {
      if (end + 4 > view.byteLength) return undefined;
      const length = view.getInt32(end);
      if (length < 0) throw new Error('a null where none can be');
      if (length !== (widths[field] ?? length)) throw new Error(`a ${this.#types[field]} of ${length} bytes`);
      this.#places[row * fields + field] = end + 4;
      end += 4 + length;
    }
    return end > view.byteLength ? undefined : end;
  }

  /** Puts a field of the rows walked over into its column. */
  #set(column: Column, field: number, rows: number, bytes: Buffer, view: DataView): void {
    const { count } = this;
    const places = this.#places;
    const fields = this.#widths.length;
    if (column instanceof Int32Array) {
      for (let row = 0; row < rows; row++) column[count + row] = view.getInt32(places[row * fields + field]!);
    } else if (column instanceof Float64Array) {
      for (let row = 0; row < rows; row++)
        column[count + row] = view.getFloat64(places[row * fields + field]!);
    } else if (column instanceof BigInt64Array) {
      for (let row = 0; row < rows; row++)
        column[count + row] = view.getBigInt64(places[row * fields + field]!);
    } else {
      for (let row = 0; row < rows; row++) {
        const place = places[row * fields + field]!;
        column.push(bytes.toString('utf8', place, place + view.getInt32(place - 4)));
      }
    }
  }
}

function emptyColumn(type: ColumnType): Column {
  switch (type) {
    case 'int4':
      return new Int32Array(BATCH_ROWS);
    case 'int8':
      return new BigInt64Array(BATCH_ROWS);
    case 'float8':
      return new Float64Array(BATCH_ROWS);
    case 'text':
      return [];
  }
}
