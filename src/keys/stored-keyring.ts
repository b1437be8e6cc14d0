/**
 * The keyring over any store of rows. It makes and verifies keys, decides at every look-up whether
 * a key is in force, and caches verified keys until the rows change.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../domain/app-error.ts';
import { LATEST_INSTANT_MS } from '../domain/instant.ts';
import type { Scope } from '../domain/scope.ts';
import { digestKey, isKeyId, makeKey, NOT_A_KEY, parseKey } from './key-format.ts';
import { expiryOfNew, type LongestLife } from './key-life.ts';
import {
  changedRow,
  type KeyRow,
  type KeyRows,
  newRow,
  type Replacement,
  readKeyDates,
  readKeyEntry,
} from './key-row.ts';
import {
  type Expiry,
  type KeyChanges,
  type KeyDates,
  type KeyEntry,
  type KeyGrant,
  type Keyring,
  type KeyringChange,
  type NewKey,
  RefusedKeyError,
  statusOf,
} from './keyring.ts';

const LAST_USE_PRECISION_MS = 60_000;
const NO_DIGEST = new Uint8Array(32);
const MOST_PROVEN = 4096;

/** A new key and its row. */
interface Fresh {
  readonly key: string;
  readonly row: KeyRow;
}

const UNKNOWN =
  'This server has no such API key. It may be a key of a different server, or its organization was removed. Ask the operator for a new one.';

export class StoredKeyring implements Keyring {
  readonly #rows: KeyRows;
  readonly #now: () => number;
  readonly #scopes = new Map<string, { readonly text: string; readonly scope: Scope }>();
  readonly #notedUses = new Map<string, number>();
  /**
   * Entries of verified keys by digest, so that no key stays in memory. Bounded, and cleared when
   * the rows change. Whether a key is in force is decided at every look-up.
   */
  readonly #proven = new Map<string, KeyEntry>();
  #provenVersion: unknown;
  /**
   * Counts the clearings of `#proven`: a row that was requested before a clearing is not cached
   * after it.
   */
  #emptied = 0;
  #onChange: (change: KeyringChange) => Promise<void> = async () => undefined;

  constructor(rows: KeyRows, now: () => number) {
    this.#rows = rows;
    this.#now = now;
  }

  /**
   * `onChange` is called after every change of a key by this keyring, when it has taken effect; the
   * method that made the change waits for it.
   */
  observe(onChange: (change: KeyringChange) => Promise<void>): void {
    this.#onChange = onChange;
  }

  async find(key: string): Promise<KeyEntry> {
    const version = await this.#rows.version();
    if (version !== this.#provenVersion) this.#forgetProven();
    this.#provenVersion = version;
    // Without the key, a client cannot control its digest, so the time of this look-up reveals
    // nothing.
    const digest = hash('sha256', key, 'base64url');
    const entry = this.#proven.get(digest) ?? (await this.#prove(key, digest));
    refuseRevoked(entry, 'The API key has been revoked; ask for a new one.');
    if (statusOf(entry, this.#now()) === 'expired')
      throw new RefusedKeyError('key-expired', 'The API key has expired; ask for a new one.', entry);
    return entry;
  }

  recordUse(entry: KeyEntry): void {
    const now = this.#now();
    const before = now - LAST_USE_PRECISION_MS;
    if ((this.#notedUses.get(entry.id) ?? entry.lastUsedMs ?? -Infinity) > before) return;
    // Recorded before it is written: a failed write is retried in a minute, not at every request.
    this.#notedUses.set(entry.id, now);
    this.#rows.noteUse(entry.id, now, before);
  }

  async create(grant: KeyGrant, expiry: Expiry | undefined, longestMs?: LongestLife): Promise<NewKey> {
    const nowMs = this.#now();
    const fresh = this.#make(grant, nowMs, expiryOfNew(nowMs, expiry, 'never', longestMs));
    await this.#rows.insert(fresh.row);
    const created = this.#toNewKey(fresh);
    await this.#onChange({ type: 'created', after: created.entry });
    return created;
  }

  async entry(id: string): Promise<KeyEntry> {
    return this.#entry(knownRow(await this.#rows.row(id), id));
  }

  async list(organization?: string): Promise<readonly KeyEntry[]> {
    return (await this.#rows.all(organization)).map((row) => this.#entry(row));
  }

  async dates(): Promise<readonly KeyDates[]> {
    return (await this.#rows.all(undefined)).map(readKeyDates);
  }

  async rotate(id: string, overlapMs: number, expiry?: Expiry, longestMs?: LongestLife): Promise<NewKey> {
    let fresh: Fresh | undefined;
    let before: KeyEntry | undefined;
    let retiresMs = Infinity;
    await this.#rows.replace(id, (row): Replacement => {
      const nowMs = this.#now();
      const old = knownRow(row, id);
      const entry = this.#entry(old);
      before = entry;
      refuseRevoked(entry, revokedId(id));
      fresh = this.#make(entry, nowMs, expiryOfNew(nowMs, expiry, sameLifetime(old, nowMs), longestMs));
      retiresMs = Math.min(old.retires_ms ?? Infinity, nowMs + overlapMs);
      return { successor: fresh.row, retiresMs };
    });
    this.#forgetProven();
    if (fresh === undefined || before === undefined) throw new Error('A key was replaced by none.');
    const successor = this.#toNewKey(fresh);
    retiresMs = Math.min(retiresMs, before.expiresMs ?? Infinity);
    await this.#onChange({ type: 'rotated', before, after: successor.entry, retiresMs });
    return successor;
  }

  async configure(id: string, change: (entry: KeyEntry) => KeyChanges): Promise<KeyEntry> {
    let configured: KeyRow | undefined;
    let before: KeyEntry | undefined;
    await this.#rows.configure(id, (row) => {
      const old = knownRow(row, id);
      const entry = this.#entry(old);
      before = entry;
      refuseRevoked(entry, revokedId(id));
      configured = changedRow(old, entry, change(entry));
      return configured;
    });
    this.#forgetProven();
    if (configured === undefined || before === undefined) throw new Error('A key was changed unseen.');
    const after = this.#entry(configured);
    await this.#onChange({ type: 'configured', before, after });
    return after;
  }

  async revoke(id: string): Promise<KeyEntry> {
    // A damaged entry must be revocable.
    const former = await this.#rows.row(id).catch(() => undefined);
    const row = await this.#rows.revoke(id, this.#now());
    this.#forgetProven();
    const after = this.#entry(knownRow(row, id));
    await this.#onChange({ type: 'revoked', before: former && this.#former(former), after });
    return after;
  }

  async close(): Promise<void> {
    await this.#rows.close();
  }

  /** Reads the entry of a key from its row, whether it is in force or not. Throws `key-unknown`. */
  async #prove(key: string, digest: string): Promise<KeyEntry> {
    const emptied = this.#emptied;
    const parts = parseKey(key);
    const row = parts && (await this.#rows.row(parts.id));
    if (parts !== undefined && row === undefined) await this.#rows.confirmAbsence?.();
    // Compared in constant time, even without such a key, so that the duration reveals nothing.
    const matches = timingSafeEqual(digestKey(key), row?.digest ?? NO_DIGEST);
    if (row === undefined || !matches) {
      throw new AppError('key-unknown', parts === undefined ? NOT_A_KEY : UNKNOWN);
    }
    const entry = this.#entry(row);
    if (emptied !== this.#emptied) return entry;
    if (this.#proven.size >= MOST_PROVEN) this.#proven.clear();
    this.#proven.set(digest, entry);
    return entry;
  }

  #forgetProven(): void {
    this.#proven.clear();
    this.#emptied += 1;
  }

  #make(grant: KeyGrant, nowMs: number, expiry: Expiry): Fresh {
    const { id, key } = makeKey();
    return { key, row: newRow(id, digestKey(key), grant, nowMs, expiry) };
  }

  #toNewKey({ key, row }: Fresh): NewKey {
    return { entry: this.#entry(row), key };
  }

  /** Undefined if the row cannot be read. */
  #former(row: KeyRow): KeyEntry | undefined {
    try {
      return readKeyEntry(row);
    } catch {
      return undefined;
    }
  }

  #entry(row: KeyRow): KeyEntry {
    const kept = this.#scopes.get(row.id);
    const entry = readKeyEntry(row, kept?.text === row.scope ? kept.scope : undefined);
    this.#scopes.set(row.id, { text: row.scope, scope: entry.scope });
    return entry;
  }
}

/** The expiry of a key that is made now with the same lifetime as the given key. */
function sameLifetime({ created_ms: createdMs, expires_ms: expiresMs }: KeyRow, nowMs: number): Expiry {
  return expiresMs === null ? 'never' : Math.min(nowMs + expiresMs - createdMs, LATEST_INSTANT_MS);
}

function refuseRevoked(entry: KeyEntry, message: string): void {
  if (entry.revokedMs !== undefined) throw new RefusedKeyError('key-revoked', message, entry);
}

/** For somebody who makes keys. */
function revokedId(id: string): string {
  return `Key ${id} has been revoked. Create a new one with "corkboard keys create".`;
}

/** Throws `key-id-unknown`. */
function knownRow(row: KeyRow | undefined, id: string): KeyRow {
  if (row !== undefined) return row;
  // The text is repeated only if it is an id: it could be the key itself.
  const what = isKeyId(id) ? `There is no key ${id}` : 'This is not the id of a key';
  throw new AppError('key-id-unknown', `${what}. "corkboard keys list" shows the ids.`);
}
