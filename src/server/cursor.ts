/**
 * Cursors (decision 18): where a page begins, sealed with a secret of the organization, so that a
 * cursor can be neither read nor made up, and bound to the question, the scope and the redaction it
 * was given out for. The same place gives the same cursor, so that two pulls of unchanged data stay
 * byte-identical (decision 4).
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { AppError } from '../app-error.ts';
import type { EventPosition } from '../dataset/query.ts';
import type { Secrets } from './secrets.ts';

/** Place in a walk through events: after which one, and the last event that was published when the walk began. */
interface EventPlace {
  readonly after: EventPosition;
  readonly upToSequence: number;
}

/** Place in a walk through a list: after which id. */
interface ListPlace {
  readonly afterId: bigint;
}

export type Place = EventPlace | ListPlace;

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const EVENT_PLACE_BYTES = 24;
const LIST_PLACE_BYTES = 8;

/** `binding` is the canonical text of everything that the cursor belongs to. */
export function sealCursor(place: Place, binding: string, secrets: Secrets): string {
  const plain = 'after' in place ? writeEventPlace(place) : writeListPlace(place);
  // The nonce is made of what it protects: it repeats only together with the whole message.
  const nonce = createHmac('sha256', secrets.cursorNonce)
    .update(`${binding.length}:${binding}`)
    .update(plain)
    .digest()
    .subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', secrets.cursorSeal, nonce).setAAD(Buffer.from(binding));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
}

/** Throws `cursor-malformed` for whatever was not sealed for the same question, scope and organization. */
export function openCursor(cursor: string | undefined, binding: string, secrets: Secrets): Place | undefined {
  if (cursor === undefined) return undefined;
  const sealed = Buffer.from(cursor, 'base64url');
  const size = sealed.length - NONCE_BYTES - TAG_BYTES;
  // A second spelling of the same bytes is refused too.
  const known = size === EVENT_PLACE_BYTES || size === LIST_PLACE_BYTES;
  if (!known || sealed.toString('base64url') !== cursor) throw malformed();
  try {
    const decipher = createDecipheriv('aes-256-gcm', secrets.cursorSeal, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(binding))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    return readPlace(
      Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]),
    );
  } catch (cause) {
    throw malformed(cause);
  }
}

function malformed(cause?: unknown): AppError {
  return new AppError(
    'cursor-malformed',
    'The cursor does not belong to this question and key, or it is damaged. Follow the header "Link" as it is, or begin again without a cursor.',
    { cause },
  );
}

function writeEventPlace(place: EventPlace): Buffer {
  const plain = Buffer.alloc(EVENT_PLACE_BYTES);
  plain.writeDoubleBE(place.after.timestampMs, 0);
  plain.writeDoubleBE(place.after.sequence, 8);
  plain.writeDoubleBE(place.upToSequence, 16);
  return plain;
}

function writeListPlace(place: ListPlace): Buffer {
  const plain = Buffer.alloc(LIST_PLACE_BYTES);
  plain.writeBigInt64BE(place.afterId);
  return plain;
}

function readPlace(plain: Buffer): Place {
  if (plain.length === LIST_PLACE_BYTES) return { afterId: plain.readBigInt64BE() };
  return {
    after: { timestampMs: plain.readDoubleBE(0), sequence: plain.readDoubleBE(8) },
    upToSequence: plain.readDoubleBE(16),
  };
}
