/** Finds the entry of the key of a request (decisions 13, 21). */
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import type { KeyEntry, Keyring } from '../../keys/keyring.ts';

/** Longer than any key. Longer values are not looked up. */
const LONGEST_KEY = 200;

/** Throws `key-missing`, `key-unknown`, `key-expired` or `key-revoked`. */
export async function authenticate(request: IncomingMessage, keyring: Keyring): Promise<KeyEntry> {
  // Node joins the values of a repeated field with commas, and no key contains one.
  const { apikey: key } = request.headers;
  if (typeof key !== 'string' || key === '') {
    throw new AppError('key-missing', 'Send the API key of the organization in the header "apikey".');
  }
  if (key.length > LONGEST_KEY || key.includes(',')) {
    throw new AppError('key-unknown', 'Send exactly one API key, once, in the header "apikey".');
  }
  const entry = await keyring.find(key);
  keyring.recordUse(entry);
  return entry;
}

/**
 * The entry that `authenticate` has found. A data route without one is a bug and must not respond.
 */
export function keyOf(request: FastifyRequest): KeyEntry {
  const { key } = request.visit;
  if (key === undefined) throw new Error('A data route was reached without a key.');
  return key;
}
