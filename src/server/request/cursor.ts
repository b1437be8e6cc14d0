/**
 * Cursors (decisions 18, 74): the start of a page, sealed with a secret of the organization, so
 * that a cursor can be neither read nor forged. It is bound to the request, the scope and the
 * redaction for which it was issued. The same position gives the same cursor, so that two pulls of
 * unchanged data are byte-identical (decision 4).
 */

import type { EventPosition } from '../../dataset/query.ts';
import { AppError } from '../../domain/app-error.ts';
import { openFormerCursor } from './former-tokens.ts';
import { type Secrets, seal, unseal } from './secrets.ts';

/**
 * A position in pages of events: the last event of the previous page, and the last sequence that
 * was published when the first page was requested.
 */
interface EventPlace {
  readonly after: EventPosition;
  readonly upToSequence: number;
}

/** A position in pages of a list: the last id of the previous page. */
interface ListPlace {
  readonly afterId: bigint;
}

export type WalkPlace = EventPlace | ListPlace;

const EVENT_PLACE_BYTES = 24;
const LIST_PLACE_BYTES = 8;

/** `binding` is the canonical text of everything that the cursor is bound to. */
export function sealCursor(place: WalkPlace, binding: string, secrets: Secrets): string {
  const plain = 'after' in place ? writeEventPlace(place) : writeListPlace(place);
  return seal(plain, secrets.cursor, binding);
}

/**
 * Throws `cursor-malformed` for a text that was not sealed for the same request, scope and
 * organization.
 */
export function openCursor(
  cursor: string | undefined,
  binding: string,
  secrets: Secrets,
): WalkPlace | undefined {
  if (cursor === undefined) return undefined;
  const plain =
    unseal(cursor, secrets.cursor, binding) ?? openFormerCursor(cursor, binding, secrets.pseudonym);
  if (plain === undefined) {
    throw new AppError(
      'cursor-malformed',
      'The cursor belongs to a different request or key, or is damaged. Follow the header "Link" unchanged, or start again without a cursor.',
    );
  }
  return readPlace(plain);
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

function readPlace(plain: Buffer): WalkPlace {
  if (plain.length === LIST_PLACE_BYTES) return { afterId: plain.readBigInt64BE() };
  return {
    after: { timestampMs: plain.readDoubleBE(0), sequence: plain.readDoubleBE(8) },
    upToSequence: plain.readDoubleBE(16),
  };
}
