/**
 * Cursors and sync tokens in the form of version 0.1: AES-GCM with a nonce derived from the
 * message, and an AES block with its own digest. They are read, but no longer issued (decision 74).
 */
import { createDecipheriv, hash, timingSafeEqual } from 'node:crypto';
import { derive } from './secrets.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CURSOR_CHARACTERS = [48, 70];
const BLOCK_CHARACTERS = 22;
const SYNC_TAG_CHARACTERS = 10;
const SYNC_TOKEN_CHARACTERS = BLOCK_CHARACTERS + SYNC_TAG_CHARACTERS;

/**
 * The content of a cursor; absent when it is invalid. `secret` is the secret of the organization.
 */
export function openFormerCursor(cursor: string, binding: string, secret: Uint8Array): Buffer | undefined {
  const sealed = Buffer.from(cursor, 'base64url');
  const isCursor = CURSOR_CHARACTERS.includes(cursor.length) && sealed.toString('base64url') === cursor;
  if (!isCursor) return undefined;
  const decipher = createDecipheriv(
    'aes-256-gcm',
    derive(secret, 'cursor seal'),
    sealed.subarray(0, NONCE_BYTES),
    { authTagLength: TAG_BYTES },
  )
    .setAAD(Buffer.from(binding))
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/**
 * The block of a sync token, whose first bytes are the sequence; absent when the token is invalid.
 */
export function openFormerSyncToken(token: string, binding: string, secret: Uint8Array): Buffer | undefined {
  if (token.length !== SYNC_TOKEN_CHARACTERS) return undefined;
  const block = token.slice(0, BLOCK_CHARACTERS);
  const tagged = `${derive(secret, 'sync tag').toString('base64url')}${block}\n${binding}`;
  const tag = Buffer.from(hash('sha256', tagged, 'base64url').slice(0, SYNC_TAG_CHARACTERS));
  const given = Buffer.from(token.slice(BLOCK_CHARACTERS));
  if (given.length !== tag.length || !timingSafeEqual(given, tag)) return undefined;
  const decipher = createDecipheriv('aes-256-ecb', derive(secret, 'sync token'), null);
  return decipher.setAutoPadding(false).update(Buffer.from(block, 'base64url'));
}
