/** Reads values in the compact protocol of Thrift, the format of Parquet metadata. Read-only. */

const TYPES = {
  true: 1,
  false: 2,
  i8: 3,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
} as const;
/** Means that the length follows, because it does not fit beside the type of the elements. */
const LONG_LIST = 15;
/** Metadata nests far less deep. */
const DEEPEST = 32;

/** All methods throw `RangeError` when the bytes end too early or nest too deep. */
export class ThriftReader {
  readonly #bytes: Buffer;
  #at = 0;
  /** Type of the next value. */
  #type = 0;
  #depth = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Calls `read` for each field until it returns false. `read` must read or skip the value. */
  struct(read: (field: number) => boolean): void {
    this.#nest(() => {
      let field = 0;
      for (;;) {
        const head = this.#byte();
        this.#type = head & 0x0f;
        if (this.#type === 0) return;
        const step = head >> 4;
        field = step === 0 ? this.integer() : field + step;
        this.#type = head & 0x0f;
        if (!read(field)) return;
      }
    });
  }

  /** The number of elements of a list. The elements are the next values. */
  listLength(): number {
    const head = this.#byte();
    const length = head >> 4;
    const count = length === LONG_LIST ? this.#varint() : length;
    this.#type = head & 0x0f;
    // Each element has at least one byte.
    if (count > this.#bytes.length - this.#at) throw new RangeError('the list is longer than the bytes');
    return count;
  }

  /** An integer of 16, 32 or 64 bits; not exact beyond 2^53. */
  integer(): number {
    const value = this.#varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Skips the next value. */
  skip(): void {
    const type = this.#type;
    // The value of a boolean field is part of its type.
    if (type === TYPES.true || type === TYPES.false) return;
    if (type === TYPES.i8) this.#move(1);
    else if (type === TYPES.double) this.#move(8);
    else if (type === TYPES.binary) this.#move(this.#varint());
    else if (type === TYPES.list || type === TYPES.set) this.#skipList();
    else if (type === TYPES.map) this.#skipMap();
    else if (type === TYPES.struct) {
      this.struct(() => {
        this.skip();
        return true;
      });
    } else this.#varint();
  }

  #skipList(): void {
    this.#nest(() => {
      const count = this.listLength();
      const type = this.#type;
      for (let at = 0; at < count; at += 1) this.#skipElement(type);
    });
  }

  #skipMap(): void {
    this.#nest(() => {
      const count = this.#varint();
      if (count === 0) return;
      const types = this.#byte();
      for (let at = 0; at < count; at += 1) {
        this.#skipElement(types >> 4);
        this.#skipElement(types & 0x0f);
      }
    });
  }

  /** In a list, unlike in a field, a boolean has one byte. */
  #skipElement(type: number): void {
    this.#type = type === TYPES.true || type === TYPES.false ? TYPES.i8 : type;
    this.skip();
  }

  #nest(read: () => void): void {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new RangeError('the description nests too deep');
    read();
    this.#depth -= 1;
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new RangeError('the bytes end too early');
    this.#at += 1;
    return byte;
  }

  #move(bytes: number): void {
    this.#at += bytes;
    if (this.#at > this.#bytes.length) throw new RangeError('the bytes end too early');
  }
}
