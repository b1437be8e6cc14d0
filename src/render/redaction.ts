/**
 * Pseudonyms in place of e-mail addresses and names (decision 22): the same person has the same pseudonym in every
 * answer and every version of an organization, and nobody without its secret can tell whose it is.
 */
import { createHmac } from 'node:crypto';
import type { Person } from '../dataset/records.ts';
import { hidesAddress } from '../dataset/redaction.ts';
import type { Redacting } from './answer.ts';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * The person as a response may show it. Pseudonyms depend on the person's id alone, so that they
 * outlive a change of name. A derived name is redacted with the address: it shows the address, or
 * what that is made of (decision 63). The id is left to `UserPseudonyms`, which take many at once.
 */
export function redactPerson(person: Person, redacting: Redacting): Person {
  const { name, secret } = redacting;
  const isAddressHidden = hidesAddress(redacting);
  return {
    ...person,
    ...(isAddressHidden && pseudonymousEmail(person.id, secret)),
    ...((name || (isAddressHidden && person.nameIsDerived)) && pseudonymousName(person.id, secret)),
  };
}

function pseudonymousEmail(id: bigint, secret: Uint8Array): Pick<Person, 'email'> {
  return { email: `${pseudonym(`email:${id}`, secret, 16).toLowerCase()}@redacted.invalid` };
}

function pseudonymousName(id: bigint, secret: Uint8Array): Pick<Person, 'name' | 'firstName' | 'lastName'> {
  const lastName = pseudonym(`name:${id}`, secret, 8);
  return { name: `Person ${lastName}`, firstName: 'Person', lastName };
}

/** Base32 (RFC 4648) of the HMAC, cut to `characters`, at most 32: five bits of the first bytes a character. */
function pseudonym(subject: string, secret: Uint8Array, characters: number): string {
  const digest = createHmac('sha256', secret).update(subject).digest();
  let text = '';
  for (let bit = 0; text.length < characters; bit += 5) {
    text += BASE32.charAt((digest.readUInt16BE(bit >> 3) >> (11 - (bit & 7))) & 31);
  }
  return text;
}
