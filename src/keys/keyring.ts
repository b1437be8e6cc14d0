/**
 * The port of the keyring: the keys of all organizations, their scopes, and their life cycle
 * (decision 21). A key itself is shown once, when it is made; afterwards only its id is known.
 */
import { AppError } from '../domain/app-error.ts';
import type { PermittedProperty } from '../domain/lms-split.ts';
import { isRedacting, REDACTABLE, type Redaction } from '../domain/redaction.ts';
import type { Scope } from '../domain/scope.ts';
import type { LongestLife } from './key-life.ts';

export interface RateLimit {
  readonly requests: number;
  readonly perSeconds: number;
}

/** What a key grants. Everything except the organization can be changed (decision 68). */
export interface KeyGrant {
  /** Name of the organization in the store. */
  readonly organization: string;
  readonly label: string;
  /**
   * The same object in every result for this key while the scope is the same, so that callers can
   * cache what they derive from it.
   */
  readonly scope: Scope;
  readonly redact: Redaction;
  /**
   * Lets a redacting key look up users by LMS properties, as keys without redaction can, and lets a
   * key without redaction see LMS ids in gradebooks. Absent: no (decisions 63, 101).
   */
  readonly allowLmsLookup?: boolean | undefined;
  /**
   * LMS properties by which the key may split activity, not empty; absent: none (decision 104).
   */
  readonly lmsSplits?: readonly string[] | undefined;
  /** Absent: the default of the server. */
  readonly rateLimit?: RateLimit | undefined;
  /**
   * Addresses and networks from which the key may be used, not empty; absent: any (decision 84).
   * The same object in every result while the keyring keeps the entry.
   */
  readonly networks?: readonly string[] | undefined;
}

/** The dates of a key, and its organization. */
export interface KeyDates {
  readonly organization: string;
  readonly createdMs: number;
  /** The key is refused from this instant on. Absent: it never expires. */
  readonly expiresMs: number | undefined;
  readonly revokedMs: number | undefined;
  /** Exact to the minute. */
  readonly lastUsedMs: number | undefined;
}

export interface KeyEntry extends KeyGrant, KeyDates {
  readonly id: string;
  /** Id of the key that replaced this one. */
  readonly rotatedTo: string | undefined;
}

/** A new key, with the only copy of the key itself. */
export interface NewKey {
  readonly entry: KeyEntry;
  readonly key: string;
}

/** The instant from which a key is refused, in milliseconds. */
export type Expiry = number | 'never';

/**
 * Changes of a key. Absent fields stay as they are; a rate limit of `undefined` removes the limit,
 * networks of `undefined` allow any address, splits of `undefined` allow none.
 */
export interface KeyChanges extends Partial<Omit<KeyGrant, 'organization'>> {
  readonly expiry?: Expiry | undefined;
}

/** A change of a key that has taken effect, for the audit (decision 87). */
export type KeyringChange = { readonly after: KeyEntry } & (
  | { readonly type: 'created'; readonly before?: undefined }
  | { readonly type: 'configured'; readonly before: KeyEntry }
  /** `after` is the new key; the old one is refused from `retiresMs` on. */
  | { readonly type: 'rotated'; readonly before: KeyEntry; readonly retiresMs: number }
  /** Without `before`, the former entry was damaged. */
  | { readonly type: 'revoked'; readonly before: KeyEntry | undefined }
);

export interface Keyring {
  /**
   * Returns the entry of a key that is in force now. An expiry takes effect at its exact
   * millisecond. A revocation takes effect with the next call in the process that made it, and
   * within a second in all others. Throws `key-unknown` if the text is not a key, its id is unknown
   * or its secret is wrong, and `key-revoked` or `key-expired` (a `RefusedKeyError`). If the keys
   * are kept by a different machine, every method can also throw `database-away`.
   */
  find(key: string): Promise<KeyEntry>;
  /**
   * Records that the key was used now, at most once a minute. Never fails: losing a record is
   * better than failing a request.
   */
  recordUse(entry: KeyEntry): void;
  /**
   * Without an expiry, the key lives for the longest life, or without an end. Throws
   * `key-life-refused`.
   */
  create(grant: KeyGrant, expiry: Expiry | undefined, longestMs?: LongestLife): Promise<NewKey>;
  /** The entry of a key, whether it is in force or not. Throws `key-id-unknown`. */
  entry(id: string): Promise<KeyEntry>;
  /** Ascending by time of creation, then by id. With `organization`: only its keys. */
  list(organization?: string): Promise<readonly KeyEntry[]>;
  /** The dates of all keys, without the work and the memory for their scopes. */
  dates(): Promise<readonly KeyDates[]>;
  /**
   * Makes a new key that grants the same. Its lifetime from now is that of the old key from its
   * creation, but at most the longest life, unless `expiry` is given. The old key expires after the
   * overlap, or at its own expiry if that is earlier. Throws `key-id-unknown`, `key-revoked`,
   * `key-life-refused`.
   */
  rotate(id: string, overlapMs: number, expiry?: Expiry, longestMs?: LongestLife): Promise<NewKey>;
  /**
   * Changes what a key grants; the secret stays the same. `change` returns the changes of the
   * present entry. They take effect as fast as a revocation. Throws `key-id-unknown`,
   * `key-revoked`, and any error of `change`.
   */
  configure(id: string, change: (entry: KeyEntry) => KeyChanges): Promise<KeyEntry>;
  /**
   * Refuses the key from now on. A key that was already revoked keeps its time of revocation.
   * Throws `key-id-unknown`.
   */
  revoke(id: string): Promise<KeyEntry>;
  close(): Promise<void>;
}

/**
 * A look-up by an LMS property links a pseudonym to a known user, so redacting keys need a
 * permission for it.
 */
export function mayLookUpPeople({ redact, allowLmsLookup = false }: KeyGrant): boolean {
  return allowLmsLookup || !isRedacting(redact);
}

/**
 * A list of LMS ids can be joined with data of other systems, so keys without redaction need the
 * permission, too.
 */
export function maySeeLmsIds({ redact, allowLmsLookup = false }: KeyGrant): boolean {
  return allowLmsLookup && !isRedacting(redact);
}

/**
 * The permission of a key whose redaction changes, unless it is given in the same change: one for
 * look-ups of pseudonyms must not become one for all LMS ids.
 */
export function lmsLookupAfter(
  { redact, allowLmsLookup }: KeyGrant,
  redactNow = redact,
): boolean | undefined {
  return isRedacting(redact) && !isRedacting(redactNow) ? false : allowLmsLookup;
}

type SplitGrant = Pick<KeyGrant, 'redact' | 'lmsSplits'>;

/** Several LMS properties together can tell who a pseudonym is, so redacting keys have one. */
export function hasTooManySplits({ redact, lmsSplits = [] }: SplitGrant): boolean {
  return isRedacting(redact) && lmsSplits.length > 1;
}

/** The LMS properties by which the key may split activity (decision 104). */
export function lmsSplitsOf(grant: SplitGrant): readonly string[] {
  return hasTooManySplits(grant) ? [] : (grant.lmsSplits ?? []);
}

/**
 * The permission to split activity by the values of an LMS property; undefined if the key has none
 * (decision 104). No other function makes one.
 */
export function splitPermission(property: string, grant: SplitGrant): PermittedProperty | undefined {
  return lmsSplitsOf(grant).includes(property) ? (property as PermittedProperty) : undefined;
}

/**
 * The splits of a key whose redaction changes, unless they are given in the same change: a
 * permission for groups of pseudonyms must not become one for the groups of names.
 */
export function lmsSplitsAfter(
  { redact, lmsSplits }: KeyGrant,
  redactNow = redact,
): readonly string[] | undefined {
  return REDACTABLE.some((field) => redact[field] && !redactNow[field]) ? undefined : lmsSplits;
}

/** The secret was right, so the log may name the key. */
export class RefusedKeyError extends AppError {
  readonly entry: KeyEntry;

  constructor(code: 'key-revoked' | 'key-expired' | 'network-not-allowed', message: string, entry: KeyEntry) {
    super(code, message);
    this.entry = entry;
  }
}

export type KeyStatus = 'active' | 'expired' | 'revoked';

export function statusOf(entry: KeyDates, nowMs: number): KeyStatus {
  if (entry.revokedMs !== undefined) return 'revoked';
  return entry.expiresMs !== undefined && entry.expiresMs <= nowMs ? 'expired' : 'active';
}
