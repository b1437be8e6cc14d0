/**
 * Pseudonyms of user ids (decision 63): a permutation of all ids under a key of the organization.
 * No two users share a pseudonym, no table is stored, and a pseudonym in a path can be converted
 * back to the id. Ids from 0 to below 2^53 map to the same range, where they are exact in every
 * client; all others map outside it.
 *
 * The permutation is a Feistel network: each round changes one half of an id by AES output for the
 * other half.
 */
import { createCipheriv, hkdfSync } from 'node:crypto';

/**
 * Ten rounds, as in FF1 (NIST SP 800-38G). They change the left and the right half in turn. The
 * inverse applies them in reverse order.
 */
const ROUNDS = Array.from({ length: 10 }, (_, round) => round);
const ROUNDS_BACK = ROUNDS.toReversed();

const BLOCK_BYTES = 16;
/** Offsets in a block, after the 32 bits for half an id. */
const ROUND_AT = 4;
const BITS_AT = 5;

/** How the bits of an id are divided; the lower bits are the right half. */
interface Cut {
  readonly left: number;
  readonly right: number;
}
const EXACT: Cut = { left: 26, right: 27 };
const OTHERS: Cut = { left: 32, right: 32 };

export class UserPseudonyms {
  readonly #key: Buffer;

  /** `secret` is the secret of the organization. */
  constructor(secret: Uint8Array) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), 'corkboard user id', 32));
  }

  /** The pseudonyms of `ids`, in the same order. Does not yield. */
  of(ids: BigInt64Array): BigInt64Array {
    return permute(ids, ROUNDS, this.#key);
  }

  ofOne(id: bigint): bigint {
    return this.of(BigInt64Array.of(id))[0]!;
  }

  /** The id that has this pseudonym. */
  idOf(pseudonym: bigint): bigint {
    return permute(BigInt64Array.of(pseudonym), ROUNDS_BACK, this.#key)[0]!;
  }
}

function isExact(id: bigint): boolean {
  return id >= 0n && id < 2n ** 53n;
}

function permute(ids: BigInt64Array, rounds: readonly number[], key: Buffer): BigInt64Array {
  const permuted = ids.slice();
  const places = Array.from(ids.keys());
  permuteCut(
    permuted,
    places.filter((place) => isExact(ids[place]!)),
    EXACT,
    rounds,
    key,
  );
  let others = places.filter((place) => !isExact(ids[place]!));
  // A result inside the exact range, about one in two thousand, is permuted again until it is
  // outside ("cycle walking").
  while (others.length > 0) {
    permuteCut(permuted, others, OTHERS, rounds, key);
    others = others.filter((place) => isExact(permuted[place]!));
  }
  return permuted;
}

/** Permutes the ids at these positions; all of them must fit the cut. */
function permuteCut(
  ids: BigInt64Array,
  places: readonly number[],
  cut: Cut,
  rounds: readonly number[],
  key: Buffer,
): void {
  if (places.length === 0) return;
  const [left, right] = [new Uint32Array(places.length), new Uint32Array(places.length)];
  for (const [at, place] of places.entries()) {
    left[at] = Number(BigInt.asUintN(cut.left, ids[place]! >> BigInt(cut.right)));
    right[at] = Number(BigInt.asUintN(cut.right, ids[place]!));
  }
  const mixer = new Mixer(places.length, key);
  for (const round of rounds) {
    if (round % 2 === 0) mixer.change(left, cut.left, right, round);
    else mixer.change(right, cut.right, left, round);
  }
  for (const [at, place] of places.entries()) {
    ids[place] = BigInt.asIntN(64, (BigInt(left[at]!) << BigInt(cut.right)) | BigInt(right[at]!));
  }
}

/** Changes halves of ids depending on the other halves. */
class Mixer {
  readonly #blocks: Buffer;
  readonly #words: DataView;
  readonly #cipher;

  constructor(count: number, key: Buffer) {
    this.#blocks = Buffer.alloc(count * BLOCK_BYTES);
    this.#words = new DataView(this.#blocks.buffer, this.#blocks.byteOffset, this.#blocks.byteLength);
    this.#cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  }

  /**
   * Changes the lowest `bits` of each half by bits derived from its other half, the round and the
   * key.
   */
  change(halves: Uint32Array, bits: number, others: Uint32Array, round: number): void {
    for (let at = 0; at < others.length; at++) {
      const block = at * BLOCK_BYTES;
      this.#words.setUint32(block, others[at]!, true);
      this.#words.setUint8(block + ROUND_AT, round);
      this.#words.setUint8(block + BITS_AT, bits);
    }
    const mixed = this.#cipher.update(this.#blocks);
    const words = new DataView(mixed.buffer, mixed.byteOffset, mixed.byteLength);
    for (let at = 0; at < halves.length; at++) {
      halves[at]! ^= words.getUint32(at * BLOCK_BYTES, true) >>> (32 - bits);
    }
  }
}
