/**
 * Pseudonyms of the ids of users (decision 63): a permutation of all ids under a key of the
 * organization, so that no two people share one, no table is kept, and an id in a path can be taken
 * back. Ids from 0 to below 2^53 stay there, exact in every client; all others stay among the
 * others.
 *
 * A Feistel network: each round changes one half of an id by what a block of AES makes of the other
 * half.
 */
import { createCipheriv, hkdfSync } from 'node:crypto';

/**
 * As in FF1 (NIST SP 800-38G). They change the left and the right half in turn; taken back, they
 * come in reverse.
 */
const ROUNDS = Array.from({ length: 10 }, (_, round) => round);
const ROUNDS_BACK = ROUNDS.toReversed();

const BLOCK_BYTES = 16;
/** Places in a block, behind the 32 bits of half an id. */
const ROUND_AT = 4;
const BITS_AT = 5;

/** How the bits of an id are cut in two; the lower ones are the right half. */
interface Cut {
  readonly left: number;
  readonly right: number;
}
const EXACT: Cut = { left: 26, right: 27 };
const OTHERS: Cut = { left: 32, right: 32 };

export class UserPseudonyms {
  readonly #key: Buffer;

  /** `secret` is the organization's own one. */
  constructor(secret: Uint8Array) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), 'corkboard user id', 32));
  }

  /** In the order of the ids. Takes about a microsecond each, without a pause. */
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
  // What becomes an exact one, one in two thousand, is permuted again until it is none ("cycle
  // walking").
  while (others.length > 0) {
    permuteCut(permuted, others, OTHERS, rounds, key);
    others = others.filter((place) => isExact(permuted[place]!));
  }
  return permuted;
}

/** The ids at these places, which fit the cut. */
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

/** Changes halves by the others. */
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
   * The lowest `bits` of the halves, each by the bits that follow from its other half, the round
   * and the key.
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
