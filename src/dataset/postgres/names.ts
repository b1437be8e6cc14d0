/**
 * Ids that many records name, each numbered once, from 0 in the order in which they come: a table of a million events
 * then holds small numbers, and what they stand for is looked up once for each id, not for each event.
 */
import { endianness } from 'node:os';

/** Where the halves of a 64-bit integer lie in memory. */
const LOW = endianness() === 'LE' ? 0 : 1;
const HIGH = 1 - LOW;

const FIRST_SLOTS = 1024;

/** The halves of 64-bit integers, two a value, without making a BigInt of each. */
export class Halves {
  readonly #words: Int32Array;

  constructor(column: BigInt64Array) {
    this.#words = new Int32Array(column.buffer, column.byteOffset, 2 * column.length);
  }

  low(row: number): number {
    return this.#words[2 * row + LOW]!;
  }

  high(row: number): number {
    return this.#words[2 * row + HIGH]!;
  }
}

/** The halves of one integer, each a signed number of 32 bits. */
export function halvesOf(value: bigint): { readonly high: number; readonly low: number } {
  return { high: Number(value >> 32n), low: Number(BigInt.asIntN(32, value)) };
}

export class Names {
  /** Numbers by hash, -1 where there is none; at most half of the slots are taken. */
  #slots = new Int32Array(FIRST_SLOTS).fill(-1);
  #ids = new BigInt64Array(FIRST_SLOTS / 2);
  #halves = new Halves(this.#ids);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  id(number: number): bigint {
    return this.#ids[number]!;
  }

  number(high: number, low: number): number {
    const slots = this.#slots;
    for (let slot = slotOf(high, low, slots.length); ; slot = (slot + 1) & (slots.length - 1)) {
      const number = slots[slot]!;
      if (number === -1) return this.#add(high, low, slot);
      if (this.#halves.low(number) === low && this.#halves.high(number) === high) return number;
    }
  }

  #add(high: number, low: number, slot: number): number {
    const number = this.#count;
    this.#ids[number] = (BigInt(high) << 32n) | BigInt(low >>> 0);
    this.#slots[slot] = number;
    this.#count += 1;
    if (this.#count === this.#ids.length) this.#grow();
    return number;
  }

  #grow(): void {
    const ids = new BigInt64Array(2 * this.#ids.length);
    ids.set(this.#ids);
    this.#ids = ids;
    this.#halves = new Halves(ids);
    const slots = new Int32Array(2 * ids.length).fill(-1);
    for (let number = 0; number < this.#count; number++) {
      let slot = slotOf(this.#halves.high(number), this.#halves.low(number), slots.length);
      while (slots[slot] !== -1) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = number;
    }
    this.#slots = slots;
  }
}

/** `slots` is a power of two. */
function slotOf(high: number, low: number, slots: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return (mixed ^ (mixed >>> 16)) & (slots - 1);
}
