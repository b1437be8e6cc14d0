/**
 * Pseudonyms in place of e-mail addresses and names (decision 22): the same person has the same pseudonym in every
 * answer and every version of an organization, and nobody without its secret can tell whose it is.
 */
import { createHmac } from 'node:crypto';
import type { Person } from '../dataset/records.ts';
import type { Redaction } from './answer.ts';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The person as an answer may show it. Depends on the person's id alone, so that it outlives a change of name. */
export function redactPerson(person: Person, redaction: Redaction): Person {
  if (!redaction.email && !redaction.name) return person;
  return {
    ...person,
    ...(redaction.email && pseudonymousEmail(person.id, redaction.secret)),
    ...(redaction.name && pseudonymousName(person.id, redaction.secret)),
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
