/**
 * The format of a key (decision 21): `cork_<id>_<secret>_<checksum>`. Secret scanners recognize
 * keys by the fixed prefix and the checksum; only the secret authenticates.
 */
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const ID_LENGTH = 12;
/** 32 characters of 5 bits: 160 random bits. */
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 8;

const KEY_ID = /^[a-z2-7]{12}$/;
const KEY = /^cork_([a-z2-7]{12})_([a-z2-7]{32})_([0-9a-f]{8})$/;
const KEYS_IN_TEXT = /cork_[a-z2-7]{12}_[a-z2-7]{8,}(?:_[0-9a-f]*)?/gi;

export interface KeyParts {
  readonly id: string;
  readonly key: string;
}

const KEY_LENGTH = 'cork_'.length + ID_LENGTH + '_'.length + SECRET_LENGTH + '_'.length + CHECKSUM_LENGTH;

/** The advice for a text that does not have the format or the checksum. */
export const NOT_A_KEY = `This is not an API key: a key begins with "cork" and has ${KEY_LENGTH} characters. Check that it was copied whole.`;

/** A new key with a new id. */
export function makeKey(): KeyParts {
  const id = randomText(ID_LENGTH);
  const body = `cork_${id}_${randomText(SECRET_LENGTH)}`;
  return { id, key: `${body}_${checksumOf(body)}` };
}

/** Absent if the text does not have the format or the checksum of a key. */
export function parseKey(text: string): KeyParts | undefined {
  const id = KEY.exec(text)?.[1];
  if (id === undefined) return undefined;
  return text.endsWith(checksumOf(text.slice(0, text.lastIndexOf('_')))) ? { id, key: text } : undefined;
}

export function isKeyId(text: string): boolean {
  return KEY_ID.test(text);
}

/** The SHA-256 of a key, which is stored in its place. 160 random bits need no slow digest. */
export function digestKey(key: string): Uint8Array {
  return createHash('sha256').update(key).digest();
}

/** Shortens every key in a text to its id, for logs and messages. */
export function concealKeys(text: string): string {
  return text.replace(KEYS_IN_TEXT, (key) => `${key.slice(0, 'cork_'.length + ID_LENGTH)}_…`);
}

function checksumOf(body: string): string {
  return crc32(body).toString(16).padStart(CHECKSUM_LENGTH, '0');
}

// 32 divides 256, so the remainder is as uniform as the byte.
function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}
