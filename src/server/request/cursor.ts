/**
 * Cursors (decisions 18, 74, 84): the start of a page, sealed with a secret of the organization, so
 * that a cursor can be neither read nor forged. It is bound to the request, the scope and the
 * redaction for which it was issued. A digest of the latter is sealed with the position, which
 * distinguishes a cursor of the same request for a different scope from a damaged one. The same
 * position gives the same cursor, so that two pulls of unchanged data are byte-identical
 * (decision 4).
 */
import { hash } from 'node:crypto';
import type { EventPosition, PointsPosition } from '../../dataset/query.ts';
import { AppError } from '../../domain/app-error.ts';
import { openFormerCursor } from './former-tokens.ts';
import { type Secrets, seal, type TokenBinding, unseal } from './secrets.ts';

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

/** A position in pages of points: the last points total of the previous page. */
interface PointsPlace {
  readonly afterPoints: PointsPosition;
}

export type WalkPlace = EventPlace | ListPlace | PointsPlace;

const EVENT_PLACE_BYTES = 24;
const LIST_PLACE_BYTES = 8;
const POINTS_PLACE_BYTES = 16;
const DIGEST_BYTES = 8;

export function sealCursor(place: WalkPlace, binding: TokenBinding, secrets: Secrets): string {
  const whole = Buffer.concat([writePlace(place), digestOf(binding)]);
  return seal(whole, secrets.cursor, sealBinding(binding));
}

/**
 * Throws `cursor-scope-changed` for a cursor that was sealed for the same request and organization,
 * but for a different scope or redaction, and `cursor-malformed` for any other text.
 */
export function openCursor(
  cursor: string | undefined,
  binding: TokenBinding,
  secrets: Secrets,
): WalkPlace | undefined {
  if (cursor === undefined) return undefined;
  const sealed = unseal(cursor, secrets.cursor, sealBinding(binding));
  if (sealed === undefined) return readPlace(openEarlierCursor(cursor, binding, secrets));
  if (!sealed.subarray(-DIGEST_BYTES).equals(digestOf(binding))) {
    throw new AppError(
      'cursor-scope-changed',
      'The cursor was issued for a different scope or redaction: what the key sees has changed, or the cursor is that of a different key. Start again without a cursor.',
    );
  }
  return readPlace(sealed.subarray(0, -DIGEST_BYTES));
}

/** Cursors of versions 0.2 and 0.1 contain no digest. Throws `cursor-malformed`. */
function openEarlierCursor(cursor: string, { whole }: TokenBinding, secrets: Secrets): Buffer {
  const plain = unseal(cursor, secrets.cursor, whole) ?? openFormerCursor(cursor, whole, secrets.pseudonym);
  if (plain !== undefined) return plain;
  throw new AppError(
    'cursor-malformed',
    'The cursor belongs to a different request or key, or is damaged. Follow the header "Link" unchanged, or start again without a cursor.',
  );
}

/** Different from every text that cursors of version 0.2 are bound to. */
function sealBinding({ request }: TokenBinding): string {
  return `request ${request}`;
}

/** Sealed together with the position, so it needs no key. */
function digestOf({ whole }: TokenBinding): Buffer {
  return hash('sha256', whole, 'buffer').subarray(0, DIGEST_BYTES);
}

function writePlace(place: WalkPlace): Buffer {
  if ('after' in place) return writeEventPlace(place);
  return 'afterId' in place ? writeListPlace(place) : writePointsPlace(place);
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

function writePointsPlace({ afterPoints }: PointsPlace): Buffer {
  const plain = Buffer.alloc(POINTS_PLACE_BYTES);
  plain.writeBigInt64BE(afterPoints.boardId, 0);
  plain.writeBigInt64BE(afterPoints.userId, 8);
  return plain;
}

function readPlace(plain: Buffer): WalkPlace {
  if (plain.length === LIST_PLACE_BYTES) return { afterId: plain.readBigInt64BE() };
  if (plain.length === POINTS_PLACE_BYTES) {
    return { afterPoints: { boardId: plain.readBigInt64BE(0), userId: plain.readBigInt64BE(8) } };
  }
  return {
    after: { timestampMs: plain.readDoubleBE(0), sequence: plain.readDoubleBE(8) },
    upToSequence: plain.readDoubleBE(16),
  };
}
