/**
 * The port of the keyring: the keys of all organizations, what each may see, and how they come and go (decision 21).
 * A key itself is told once, when it is made; afterwards only its id is known.
 */
import { AppError } from '../domain/app-error.ts';
import { isRedacting, type Redaction } from '../domain/redaction.ts';
import type { Scope } from '../domain/scope.ts';

export interface RateLimit {
  readonly requests: number;
  readonly perSeconds: number;
}

/** What a key grants. All of it but the organization can be changed (decision 68). */
export interface KeyGrant {
  /** Name of the organization in the store. */
  readonly organization: string;
  readonly label: string;
  /**
   * The same object in every answer about this key while the scope is the same, so that what is
   * derived from it can be kept beside it.
   */
  readonly scope: Scope;
  readonly redact: Redaction;
  /**
   * Lets a redacting key look up people by LMS properties, as any other key may; absent: no
   * (decision 63).
   */
  readonly allowLmsLookup?: boolean | undefined;
  /** Absent: the default of the server. */
  readonly rateLimit?: RateLimit | undefined;
}

export interface KeyEntry extends KeyGrant {
  readonly id: string;
  readonly createdMs: number;
  /** The key is refused from this instant on; absent: it never expires. */
  readonly expiresMs: number | undefined;
  readonly revokedMs: number | undefined;
  /** Exact to the minute. */
  readonly lastUsedMs: number | undefined;
  /** Id of the key that took this one's place. */
  readonly rotatedTo: string | undefined;
}

/** A key just made, with the only copy of the key itself. */
export interface NewKey {
  readonly entry: KeyEntry;
  readonly key: string;
}

/** The instant from which on a key is refused. */
export type Expiry = number | 'never';

/** What changes about a key: what is absent stays, a rate limit of `undefined` is taken away. */
export interface KeyChanges extends Partial<Omit<KeyGrant, 'organization'>> {
  readonly expiry?: Expiry | undefined;
}

export interface Keyring {
  /**
   * The entry of a key that is in force now. An expiry counts from its very millisecond, a revocation from the very next
   * call in the process that made it and within a second in all others. Throws `key-unknown` for whatever is not a key,
   * names no key or has a wrong secret, `key-revoked`, `key-expired` (a `RefusedKeyError`); and
   * `database-away`, like every method, where the
   * keys are kept by another machine.
   */
  find(key: string): Promise<KeyEntry>;
  /** Notes that the key was used now, at most once a minute. Never fails: a lost note costs less than a request. */
  recordUse(entry: KeyEntry): void;
  create(grant: KeyGrant, expiresMs: number | undefined): Promise<NewKey>;
  /** Ascending by time of creation, then by id; with `organization` only the keys of that one. */
  list(organization?: string): Promise<readonly KeyEntry[]>;
  /**
   * A new key that grants the same. It lives as long from now as the old one was to live from its
   * creation, or until the expiry that is given. The old one expires after the overlap, or earlier
   * if it was to. Throws `key-id-unknown`, `key-revoked`.
   */
  rotate(id: string, overlapMs: number, expiry?: Expiry): Promise<NewKey>;
  /**
   * Changes what a key grants, without another secret: `change` says what, of the key as it is. Acts
   * as soon as a revocation does. Throws `key-id-unknown`, `key-revoked`, and what `change` throws.
   */
  configure(id: string, change: (entry: KeyEntry) => KeyChanges): Promise<KeyEntry>;
  /** Refuses the key from now on; one revoked before keeps its time. Throws `key-id-unknown`. */
  revoke(id: string): Promise<KeyEntry>;
  close(): Promise<void>;
}

/**
 * A look-up by an LMS property ties a pseudonym to a known person, so redacting keys need a
 * permission for it.
 */
export function mayLookUpPeople({ redact, allowLmsLookup = false }: KeyGrant): boolean {
  return allowLmsLookup || !isRedacting(redact);
}

/** `key-revoked` or `key-expired`: the secret was right, so the log may name the key. */
export class RefusedKeyError extends AppError {
  readonly entry: KeyEntry;

  constructor(code: 'key-revoked' | 'key-expired', message: string, entry: KeyEntry) {
    super(code, message);
    this.entry = entry;
  }
}

export type KeyStatus = 'active' | 'expired' | 'revoked';

export function statusOf(entry: KeyEntry, nowMs: number): KeyStatus {
  if (entry.revokedMs !== undefined) return 'revoked';
  return entry.expiresMs !== undefined && entry.expiresMs <= nowMs ? 'expired' : 'active';
}
