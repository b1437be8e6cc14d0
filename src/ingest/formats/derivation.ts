/**
 * Derives ids from the texts by which a source identifies users, boards, pins and events (decision
 * 62), and names and addresses of users for whom the source has none.
 */
import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject } from 'node:crypto';
import { type Derivation, derived, type Identity, invalidEmail, type NamedPerson } from './format.ts';

const SHOWN_BITS = 53;
const EVENT_BITS = 63;
const NAME_BITS = 40;
const NAME_CHARACTERS = 8;

type Purpose = 'person' | 'board' | 'pin' | 'event';

/**
 * For organizations with data older than keyed ids: digests without a key. Anyone who has an
 * address can compute the id derived from it.
 */
export const plainDerivation: Derivation = {
  numberOf: (_thing, text) => plainNumber(text, SHOWN_BITS),
  eventNumberOf: (text) => plainNumber(text, EVENT_BITS),
  personOf({ text, word, kind, host = kind }) {
    const id = plainNumber(text, SHOWN_BITS);
    return { id, email: invalidEmail(`${id}`, host), name: derived(word) };
  },
};

/** Uses the secret of the organization, so that ids cannot be found without it by trying texts. */
export function keyedDerivation(secret: Uint8Array): Derivation {
  const keyOf = (purpose: Purpose) =>
    createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', `corkboard derived ${purpose}`, 32)));
  // One key per purpose, so that the number of a board or pin never reveals the id of a user.
  const keys = { person: keyOf('person'), board: keyOf('board'), pin: keyOf('pin'), event: keyOf('event') };
  return {
    numberOf: (thing, text) => numberIn(digestOf(keys[thing], text), SHOWN_BITS),
    eventNumberOf: (text) => numberIn(digestOf(keys.event, text), EVENT_BITS),
    personOf: (identity) => keyedPerson(keys.person, identity),
  };
}

/** Id and name use different bits of the digest, so that neither reveals the other. */
function keyedPerson(key: KeyObject, { text, kind }: Identity): NamedPerson {
  const digest = digestOf(key, text);
  const id = numberIn(digest, SHOWN_BITS);
  const name = numberIn(digest.subarray(8), NAME_BITS).toString(32).padStart(NAME_CHARACTERS, '0');
  return {
    id,
    email: invalidEmail(`user-${id}`, kind),
    name: derived(`Person ${name.toUpperCase()}`),
  };
}

function digestOf(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function plainNumber(text: string, bits: number): bigint {
  return numberIn(hash('sha256', text, 'buffer'), bits);
}

/** The last `bits` of the first eight bytes. */
function numberIn(digest: Buffer, bits: number): bigint {
  return BigInt.asUintN(bits, digest.readBigUInt64BE());
}
