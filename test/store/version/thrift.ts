/**
 * Writes values in the compact protocol of Thrift, in which Parquet describes its columns, for
 * files that no writer makes.
 */

/** A value with its type, as it follows the number of its field. */
export interface ThriftValue {
  readonly type: number;
  readonly bytes: Buffer;
}

const NOTHING = Buffer.alloc(0);
const TYPES = { true: 1, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;
/** From this length on, the number of elements does not fit beside their type. */
const LONG_LIST = 15;

export const yes: ThriftValue = { type: TYPES.true, bytes: NOTHING };

export function i32(value: number): ThriftValue {
  return { type: TYPES.i32, bytes: zigzag(value) };
}

export function i64(value: number): ThriftValue {
  return { type: TYPES.i64, bytes: zigzag(value) };
}

export function binary(value: Buffer | string): ThriftValue {
  const bytes = Buffer.from(value);
  return { type: TYPES.binary, bytes: Buffer.concat([varint(bytes.length), bytes]) };
}

/** Of at least one element; all are of one type. */
export function list(values: readonly ThriftValue[]): ThriftValue {
  const type = values[0]?.type ?? TYPES.struct;
  const { length } = values;
  const head =
    length < LONG_LIST
      ? Buffer.of((length << 4) | type)
      : Buffer.concat([Buffer.of(0xf0 | type), varint(length)]);
  return { type: TYPES.list, bytes: Buffer.concat([head, ...values.map(({ bytes }) => bytes)]) };
}

/** Fields by their number, at most 15 apart; undefined ones are left out. */
export function struct(fields: Readonly<Record<number, ThriftValue | undefined>>): ThriftValue {
  const parts: Buffer[] = [];
  let last = 0;
  // Integer keys are iterated in ascending order.
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const id = Number(key);
    parts.push(Buffer.of(((id - last) << 4) | value.type), value.bytes);
    last = id;
  }
  return { type: TYPES.struct, bytes: Buffer.concat([...parts, Buffer.of(0)]) };
}

/** An unsigned integer below 2^53, seven bits a byte, the lowest first. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) | 0x80);
  return Buffer.from([...bytes, left]);
}

/** For values that are never negative here. */
function zigzag(value: number): Buffer {
  return varint(value * 2);
}
