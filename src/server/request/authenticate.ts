/**
 * Finds the entry of the key of a request (decisions 13, 21), and refuses the key outside its
 * networks (decision 84). The key is in the header `apikey` or, with the scheme Bearer (RFC 6750),
 * in `Authorization`.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import { isInNetworks } from '../../domain/network.ts';
import { NOT_A_KEY } from '../../keys/key-format.ts';
import { type KeyEntry, type Keyring, RefusedKeyError } from '../../keys/keyring.ts';

/** Longer than any key. Longer values are not looked up. */
const LONGEST_KEY = 200;

const WHERE = 'in the header "apikey", or as "Authorization: Bearer KEY"';

/**
 * Throws `key-missing`, `key-ambiguous`, `key-unknown`, `key-expired`, `key-revoked` or
 * `network-not-allowed`.
 */
export async function authenticate({ raw, visit }: FastifyRequest, keyring: Keyring): Promise<KeyEntry> {
  const key = readKey(raw);
  if (key.includes(',')) throw new AppError('key-unknown', `Send exactly one API key, once, ${WHERE}.`);
  if (key.length > LONGEST_KEY) throw new AppError('key-unknown', NOT_A_KEY);
  const entry = await keyring.find(key);
  refuseOutside(entry, visit.address);
  keyring.recordUse(entry);
  return entry;
}

/** The message does not name the networks: the key may have leaked. */
function refuseOutside(entry: KeyEntry, address: string | undefined): void {
  const { networks } = entry;
  if (networks === undefined || isInNetworks(networks, address)) return;
  throw new RefusedKeyError(
    'network-not-allowed',
    'This API key may not be used from the address of this client. Use it from a permitted network, or ask the operator to permit this one.',
    entry,
  );
}

/** The key as sent, not empty. A repeated field gives a text with a comma; no key contains one. */
function readKey(request: IncomingMessage): string {
  const { apikey, authorization } = request.headers;
  // An empty field counts as absent.
  const own = typeof apikey === 'string' && apikey !== '' ? apikey : undefined;
  const bearer = authorization === undefined ? undefined : bearerOf(request.rawHeaders);
  const key = own ?? bearer;
  if (key === undefined) {
    const ignored = authorization === undefined ? '' : ' Other schemes of "Authorization" are ignored.';
    throw new AppError('key-missing', `Send the API key of the organization ${WHERE}.${ignored}`);
  }
  if (bearer === undefined || bearer === key) return key;
  throw new AppError(
    'key-ambiguous',
    'The headers "apikey" and "Authorization" contain different keys. Send one of them.',
  );
}

/**
 * The credentials of the scheme Bearer, undefined without any. Values of a repeated field are
 * joined with commas, as Node does for `apikey`; of `authorization` it keeps only the first one.
 */
function bearerOf(rawHeaders: readonly string[]): string | undefined {
  const keys: string[] = [];
  // Names are at the even indexes.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== 'authorization') continue;
    const [, key] = /^bearer +(.+)$/i.exec(rawHeaders[at + 1] ?? '') ?? [];
    if (key !== undefined) keys.push(key);
  }
  return keys.length === 0 ? undefined : keys.join(', ');
}

/**
 * The entry that `authenticate` has found. A data route without one is a bug and must not respond.
 */
export function keyOf(request: FastifyRequest): KeyEntry {
  const { key } = request.visit;
  if (key === undefined) throw new Error('A data route was reached without a key.');
  return key;
}
