/**
 * The port of the keyring: the keys of all organizations, what each may see, and how they come and go (decision 21).
 * A key itself is told once, when it is made; afterwards only its id is known.
 */
import { AppError } from '../app-error.ts';
import { isRedacting, type Redaction } from '../dataset/redaction.ts';
import type { Scope } from '../dataset/scope.ts';

export interface RateLimit {
  readonly requests: number;
  readonly perSeconds: number;
}

/** What a key grants; chosen when it is made and the same for its whole life. */
export interface KeyGrant {
  /** Name of the organization in the store. */
  readonly organization: string;
  readonly label: string;
  /** The same object in every answer about this key, so that what is derived from it can be kept beside it. */
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
   * A new key that grants the same until the same expiry; the old one expires after the overlap, or earlier if it
   * was to. Throws `key-id-unknown`, `key-revoked`, `key-expired`.
   */
  rotate(id: string, overlapMs: number): Promise<NewKey>;
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
