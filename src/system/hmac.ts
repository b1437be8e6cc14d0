/**
 * HMAC-SHA-256 (RFC 2104) made of two one-shot hashes, because an `Hmac` of Node takes longer than
 * both of them (decision 74).
 */
import { hash } from 'node:crypto';

/** Bytes that SHA-256 processes at a time. */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER = 0x36;
const OUTER = 0x5c;

/** Reused memory for messages of up to this size. */
const messageMemory = Buffer.alloc(4096);

/** One secret, for any number of texts. */
export class HmacKey {
  readonly #inner: Uint8Array;
  /** A block, and space for the digest of the inner message. */
  readonly #outer: Buffer;

  /** Throws `RangeError` if the secret has more than 64 bytes: it would have to be hashed first. */
  constructor(secret: Uint8Array) {
    if (secret.length > BLOCK_BYTES) throw new RangeError('The secret is longer than 64 bytes.');
    const block = new Uint8Array(BLOCK_BYTES);
    block.set(secret);
    this.#inner = block.map((byte) => byte ^ INNER);
    this.#outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
    this.#outer.set(block.map((byte) => byte ^ OUTER));
  }

  /** The HMAC of the text in UTF-8, as 43 characters of base64url. */
  digest(text: string): string {
    this.#outer.write(hash('sha256', this.#message(text), 'binary'), BLOCK_BYTES, 'binary');
    return hash('sha256', this.#outer, 'base64url');
  }

  /** The inner block, followed by the text in UTF-8. Valid until the next message. */
  #message(text: string): Uint8Array {
    // In UTF-8, a UTF-16 code unit takes three bytes at most.
    if (BLOCK_BYTES + 3 * text.length > messageMemory.length) {
      return Buffer.concat([this.#inner, Buffer.from(text)]);
    }
    messageMemory.set(this.#inner);
    return messageMemory.subarray(0, BLOCK_BYTES + messageMemory.write(text, BLOCK_BYTES));
  }
}
