/**
 * Pseudonyms in place of e-mail addresses and names (decision 22): the same person has the same pseudonym in every
 * answer and every version of an organization, and nobody without its secret can tell whose it is.
 */
import { createHmac } from 'node:crypto';
import type { Users } from '../../dataset/records.ts';
import { TextColumn } from '../../dataset/text-column.ts';
import { hidesAddress } from '../../domain/redaction.ts';
import type { Redacting } from '../text/answer.ts';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Pseudonyms made between two looks at the clock. */
const MADE_AT_ONCE = 64;

/**
 * The users as a response may show them. Pseudonyms depend on the id alone, so that they outlive a change of name. A
 * derived name is redacted with the address: it shows the address, or what that is made of (decision 63). The ids are
 * left to `UserPseudonyms`.
 */
export async function redactUsers(users: Users, redacting: Redacting): Promise<Users> {
  const { name, secret } = redacting;
  const isAddressHidden = hidesAddress(redacting);
  const { id: ids, name_is_derived: isDerived } = users;
  const isNameHidden = (index: number) => name || (isAddressHidden && isDerived[index] === 1);
  const make = (text: (index: number) => string) => TextColumn.make(ids.length, MADE_AT_ONCE, text);
  const or = (column: TextColumn, pseudonymOf: (index: number) => string) =>
    make((index) => (isNameHidden(index) ? pseudonymOf(index) : column.at(index)));
  const lastNames = await or(users.last_name, (index) => pseudonym(`name:${ids[index]}`, secret, 8));
  return {
    ...users,
    ...(isAddressHidden && { email: await make((index) => pseudonymousEmail(ids[index]!, secret)) }),
    name: await or(users.name, (index) => `Person ${lastNames.at(index)}`),
    first_name: await or(users.first_name, () => 'Person'),
    last_name: lastNames,
  };
}

function pseudonymousEmail(id: bigint, secret: Uint8Array): string {
  return `${pseudonym(`email:${id}`, secret, 16).toLowerCase()}@redacted.invalid`;
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
