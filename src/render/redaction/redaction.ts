/**
 * Pseudonyms for e-mail addresses and names (decision 22). A user has the same pseudonym in every
 * response and every version of an organization. Without the secret of the organization, a
 * pseudonym cannot be traced to its user.
 */
import { createHmac } from 'node:crypto';
import type { Users } from '../../dataset/records.ts';
import { TextColumn } from '../../dataset/text-column.ts';
import { hidesAddress } from '../../domain/redaction.ts';
import type { Redacting } from '../text/rendered-body.ts';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Pseudonyms made between two checks of the clock. */
const MADE_AT_ONCE = 64;

/**
 * The users as a response may show them. Pseudonyms depend only on the id, so they survive a change
 * of name. A derived name is redacted with the address, because it reveals the address or its
 * source (decision 63). Ids are not changed here; see `UserPseudonyms`.
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

/**
 * The HMAC of `subject` in Base32 (RFC 4648), five bits per character, truncated to `characters`,
 * at most 32.
 */
function pseudonym(subject: string, secret: Uint8Array, characters: number): string {
  const digest = createHmac('sha256', secret).update(subject).digest();
  let text = '';
  for (let bit = 0; text.length < characters; bit += 5) {
    text += BASE32.charAt((digest.readUInt16BE(bit >> 3) >> (11 - (bit & 7))) & 31);
  }
  return text;
}
