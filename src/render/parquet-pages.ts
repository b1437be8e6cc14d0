/** The pages of one column in one row group of a Parquet file: a dictionary with places in it, or plain values. */
import { promisify } from 'node:util';
import { constants as zlib, zstdCompress } from 'node:zlib';
import { inSlices } from '../time-slice.ts';
import { i32, struct, varint } from './thrift.ts';

/** What a column holds; `instant` is in Unix milliseconds. */
export type ParquetType = 'integer' | 'text' | 'instant';

export interface ColumnValues {
  readonly values: ArrayLike<string | bigint | number>;
  /** By row, where its value is among `values`, -1 where it has none. Absent: the values are those of the rows. */
  readonly places?: Int32Array;
}

export interface ColumnPages {
  readonly bytes: Buffer;
  /** Of the dictionary and its header; 0 where there is none. */
  readonly dictionaryBytes: number;
  readonly uncompressedBytes: number;
}

// Numbers that the format has given.
export const PLAIN = 0;
export const RLE = 3;
export const RLE_DICTIONARY = 8;
const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;

const ZSTD = { params: { [zlib.ZSTD_c_compressionLevel]: 1 } };
const INT64_BYTES = 8;
/** Values between two looks at the clock. */
const VALUES_AT_ONCE = 2048;
const LENGTH_BYTES = 4;

/** Of an `optional` column values may be absent. */
export async function renderColumn(
  type: ParquetType,
  optional: boolean,
  { values, places }: ColumnValues,
): Promise<ColumnPages> {
  if (places === undefined) return await plainPages(type, optional, values);
  const { distinct, places: defined } = await distinctOf(values, places);
  const levels = optional ? levelsOf(places) : Buffer.alloc(0);
  if (defined.length === 0) return pagesOf(await dataPage(places.length, PLAIN, levels));
  const dictionary = await page(DICTIONARY_PAGE, await plainBytes(type, distinct), {
    7: struct({ 1: i32(distinct.length), 2: i32(PLAIN) }),
  });
  const width = Math.max(1, 32 - Math.clz32(distinct.length - 1));
  const body = Buffer.concat([levels, Buffer.of(width), packed(defined, width)]);
  return pagesOf(await dataPage(places.length, RLE_DICTIONARY, body), dictionary);
}

async function plainPages(
  type: ParquetType,
  optional: boolean,
  values: ArrayLike<string | bigint | number>,
): Promise<ColumnPages> {
  const levels = optional ? levelsOf(new Int32Array(values.length)) : Buffer.alloc(0);
  const body = Buffer.concat([levels, await plainBytes(type, values)]);
  return pagesOf(await dataPage(values.length, PLAIN, body));
}

interface Page {
  readonly bytes: Buffer;
  readonly uncompressedBytes: number;
}

function pagesOf(data: Page, dictionary?: Page): ColumnPages {
  return {
    bytes: dictionary === undefined ? data.bytes : Buffer.concat([dictionary.bytes, data.bytes]),
    dictionaryBytes: dictionary?.bytes.length ?? 0,
    uncompressedBytes: data.uncompressedBytes + (dictionary?.uncompressedBytes ?? 0),
  };
}

function dataPage(rows: number, encoding: number, body: Buffer): Promise<Page> {
  return page(DATA_PAGE, body, { 5: struct({ 1: i32(rows), 2: i32(encoding), 3: i32(RLE), 4: i32(RLE) }) });
}

async function page(
  type: number,
  body: Buffer,
  header: Readonly<Record<number, ReturnType<typeof struct>>>,
): Promise<Page> {
  const compressed = await promisify(zstdCompress)(body, ZSTD);
  const { bytes } = struct({ 1: i32(type), 2: i32(body.length), 3: i32(compressed.length), ...header });
  return { bytes: Buffer.concat([bytes, compressed]), uncompressedBytes: bytes.length + body.length };
}

/**
 * Each value once: many people have the same role, and fewer values take fewer bits a row. `places` are those of the
 * rows that have a value. Loops, because functions called for each of millions of rows take four times as long.
 */
async function distinctOf(values: ColumnValues['values'], rows: Int32Array) {
  const known = new Map<string | bigint | number, number>();
  const placeOf = new Int32Array(values.length);
  const meet = (from: number, to: number) => {
    for (let at = from; at < to; at++) {
      const place = known.get(values[at]!) ?? known.size;
      if (place === known.size) known.set(values[at]!, place);
      placeOf[at] = place;
    }
  };
  await inSlices(0, values.length, meet, VALUES_AT_ONCE);
  const places = new Int32Array(rows.length);
  let defined = 0;
  for (const row of rows) if (row >= 0) places[defined++] = placeOf[row]!;
  return { distinct: [...known.keys()], places: places.subarray(0, defined) };
}

/** Values in the encoding PLAIN: eight bytes, or a length and the text in UTF-8. */
async function plainBytes(type: ParquetType, values: ColumnValues['values']): Promise<Buffer> {
  return type === 'text' ? await textBytes(values) : await integerBytes(values);
}

async function integerBytes(values: ColumnValues['values']): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(values.length * INT64_BYTES);
  const write = (from: number, to: number) => {
    for (let at = from; at < to; at++) bytes.writeBigInt64LE(BigInt(values[at]!), at * INT64_BYTES);
  };
  await inSlices(0, values.length, write, VALUES_AT_ONCE);
  return bytes;
}

async function textBytes(values: ColumnValues['values']): Promise<Buffer> {
  let size = 0;
  const measure = (from: number, to: number) => {
    for (let at = from; at < to; at++) size += LENGTH_BYTES + Buffer.byteLength(String(values[at]));
  };
  await inSlices(0, values.length, measure, VALUES_AT_ONCE);
  const bytes = Buffer.allocUnsafe(size);
  let end = 0;
  const write = (from: number, to: number) => {
    for (let at = from; at < to; at++) {
      const length = bytes.write(String(values[at]), end + LENGTH_BYTES);
      bytes.writeUInt32LE(length, end);
      end += LENGTH_BYTES + length;
    }
  };
  await inSlices(0, values.length, write, VALUES_AT_ONCE);
  return bytes;
}

/** Which rows have a value, as a data page begins with it. */
function levelsOf(rows: Int32Array): Buffer {
  const isDefined = new Int32Array(rows.length);
  for (let row = 0; row < rows.length; row++) isDefined[row] = rows[row]! < 0 ? 0 : 1;
  const levels = packed(isDefined, 1);
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  length.writeUInt32LE(levels.length);
  return Buffer.concat([length, levels]);
}

/**
 * Numbers below 2^`width`, at most 24 bits, in the hybrid encoding RLE: one run where all are the same, else bits one
 * after the other.
 */
function packed(numbers: Int32Array, width: number): Buffer {
  const [first = 0] = numbers;
  const valueBytes = Math.ceil(width / 8);
  if (areAll(numbers, first)) {
    const value = Buffer.allocUnsafe(valueBytes);
    value.writeUIntLE(first, 0, valueBytes);
    return Buffer.concat([varint(numbers.length * 2), value]);
  }
  const groups = Math.ceil(numbers.length / 8);
  const bytes = Buffer.alloc(groups * width);
  let end = 0;
  let gathered = 0;
  let bits = 0;
  for (const number of numbers) {
    gathered |= number << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      bytes[end++] = gathered & 0xff;
      gathered >>>= 8;
    }
  }
  if (bits > 0) bytes[end] = gathered;
  return Buffer.concat([varint(groups * 2 + 1), bytes]);
}

function areAll(numbers: Int32Array, value: number): boolean {
  for (const number of numbers) if (number !== value) return false;
  return true;
}
