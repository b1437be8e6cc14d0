/**
 * The keyring of the embedded store: `keys.db` (SQLite) in the data folder, shared by servers and commands at the
 * same time. Every look-up asks the file whether it has changed, so what one process revokes the others refuse at once.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../app-error.ts';
import type { Scope } from '../dataset/scope.ts';
import { openPrivateDatabase } from '../private-database.ts';
import { digestKey, isKeyId, type KeyParts, makeKey, parseKey } from './key-format.ts';
import { INSERT_KEY, type KeyRow, keyRow, prepareSchema, readKeyEntry, rowValues } from './key-row.ts';
import { type KeyEntry, type KeyGrant, type Keyring, type NewKey, statusOf } from './keyring.ts';

const FILE = 'keys.db';
const LAST_USE_PRECISION_MS = 60_000;
const NO_DIGEST = new Uint8Array(32);
const MOST_PROVEN = 4096;

/** Opens, and makes when there is none, the keyring of a data folder. Throws `data-unreadable`. */
export function openSqliteKeyring(dataDir: string, now: () => number = Date.now): Keyring {
  return new SqliteKeyring(dataDir, now);
}

class SqliteKeyring implements Keyring {
  readonly #database: DatabaseSync;
  // A connection of its own, which neither waits for a lock nor for the disk: a last use must not hold up a request.
  readonly #uses: DatabaseSync;
  readonly #now: () => number;
  readonly #selectKey: StatementSync;
  readonly #selectDataVersion: StatementSync;
  readonly #updateUse: StatementSync;
  readonly #scopes = new Map<string, { readonly text: string; readonly scope: Scope }>();
  readonly #notedUses = new Map<string, number>();
  /**
   * Entries of keys whose secret was right, by digest, so that no key stays in memory; bounded, and emptied when
   * the file has changed. Whether a key is in force is decided at every look-up.
   */
  readonly #proven = new Map<string, KeyEntry>();
  #provenVersion: unknown;
  #asking: Promise<void> | undefined;

  constructor(dataDir: string, now: () => number) {
    this.#now = now;
    this.#database = openPrivateDatabase(dataDir, FILE);
    prepareSchema(this.#database);
    this.#selectKey = this.#database.prepare('SELECT * FROM keys WHERE id = ?');
    // Another number whenever another connection has changed the file; several times cheaper than to read a row.
    this.#selectDataVersion = this.#database.prepare('PRAGMA data_version');
    this.#uses = new DatabaseSync(join(dataDir, FILE), { timeout: 0 });
    this.#uses.exec('PRAGMA synchronous = NORMAL');
    this.#updateUse = this.#uses.prepare(
      'UPDATE keys SET last_used_ms = :now WHERE id = :id AND coalesce(last_used_ms <= :before, true)',
    );
  }

  async find(key: string): Promise<KeyEntry> {
    await this.#newest();
    // Whoever does not know the key cannot steer its digest, so how long this look-up takes tells nothing either.
    const digest = hash('sha256', key, 'base64url');
    const entry = this.#proven.get(digest) ?? this.#prove(key, digest);
    this.#refuseEnded(entry, 'The API key');
    return entry;
  }

  /** Reads the entry of a key from the file, whether in force or not. Throws `key-unknown`. */
  #prove(key: string, digest: string): KeyEntry {
    const parts = parseKey(key);
    const row = parts && this.#row(parts.id);
    // Compared in constant time, and also when there is no such key, so that the time taken tells nothing.
    const matches = timingSafeEqual(digestKey(key), row?.digest ?? NO_DIGEST);
    if (row === undefined || !matches) {
      throw new AppError('key-unknown', 'The API key is not known; check that it was copied whole.');
    }
    const entry = this.#entry(row);
    if (this.#proven.size >= MOST_PROVEN) this.#proven.clear();
    this.#proven.set(digest, entry);
    return entry;
  }

  /**
   * Asks the file whether it has changed: once for all look-ups that began in the same turn of the event loop, and
   * after the last of them has begun, so that each sees what was true when it did.
   */
  #newest(): Promise<void> {
    this.#asking ??= setImmediate().then(() => {
      this.#asking = undefined;
      this.#forgetChanged();
    });
    return this.#asking;
  }

  #forgetChanged(): void {
    const version = this.#selectDataVersion.get()?.['data_version'];
    if (version === this.#provenVersion) return;
    this.#provenVersion = version;
    this.#proven.clear();
  }

  recordUse(entry: KeyEntry): void {
    const now = this.#now();
    const before = now - LAST_USE_PRECISION_MS;
    if ((this.#notedUses.get(entry.id) ?? entry.lastUsedMs ?? -Infinity) > before) return;
    // Noted before it is written: a disk that refuses is asked again in a minute, not at every request.
    this.#notedUses.set(entry.id, now);
    try {
      this.#updateUse.run({ now, id: entry.id, before });
    } catch {
      // Locked or not writable: the request goes on without it.
    }
  }

  async create(grant: KeyGrant, expiresMs: number | undefined): Promise<NewKey> {
    return this.#insert(makeKey(), grant, expiresMs);
  }

  async list(organization?: string): Promise<readonly KeyEntry[]> {
    const rows = this.#database
      .prepare('SELECT * FROM keys WHERE organization = coalesce(?, organization) ORDER BY created_ms, id')
      .all(organization ?? null);
    return rows.map((row) => this.#entry(keyRow(row)));
  }

  async rotate(id: string, overlapMs: number): Promise<NewKey> {
    return this.#transaction(() => {
      const old = this.#knownRow(id);
      const entry = this.#entry(old);
      this.#refuseEnded(entry, `Key ${id}`);
      const successor = this.#insert(makeKey(), entry, old.expires_ms ?? undefined);
      const retiresMs = Math.min(old.retires_ms ?? Infinity, this.#now() + overlapMs);
      this.#database
        .prepare('UPDATE keys SET retires_ms = ?, rotated_to = ? WHERE id = ?')
        .run(retiresMs, successor.entry.id, id);
      return successor;
    });
  }

  async revoke(id: string): Promise<KeyEntry> {
    return this.#transaction(() => {
      this.#database
        .prepare('UPDATE keys SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?')
        .run(this.#now(), id);
      return this.#entry(this.#knownRow(id));
    });
  }

  async close(): Promise<void> {
    this.#uses.close();
    this.#database.close();
  }

  #insert({ id, key }: KeyParts, grant: KeyGrant, expiresMs: number | undefined): NewKey {
    this.#database.prepare(INSERT_KEY).run(rowValues(id, digestKey(key), grant, this.#now(), expiresMs));
    return { entry: this.#entry(this.#knownRow(id)), key };
  }

  #row(id: string): KeyRow | undefined {
    const row = this.#selectKey.get(id);
    return row && keyRow(row);
  }

  #knownRow(id: string): KeyRow {
    const row = this.#row(id);
    if (row !== undefined) return row;
    // The text is told back only when it is an id: somebody may have given the key itself.
    const what = isKeyId(id) ? `There is no key ${id}` : 'That is no key id';
    throw new AppError('key-id-unknown', `${what}; "corkboard keys list" shows the ids.`);
  }

  #entry(row: KeyRow): KeyEntry {
    const kept = this.#scopes.get(row.id);
    const entry = readKeyEntry(row, kept?.text === row.scope ? kept.scope : undefined);
    this.#scopes.set(row.id, { text: row.scope, scope: entry.scope });
    return entry;
  }

  #refuseEnded(entry: KeyEntry, subject: string): void {
    const status = statusOf(entry, this.#now());
    if (status === 'revoked')
      throw new AppError('key-revoked', `${subject} has been revoked; ask for a new one.`);
    if (status === 'expired') throw new AppError('key-expired', `${subject} has expired; ask for a new one.`);
  }

  #transaction<T>(change: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = change();
      this.#database.exec('COMMIT');
      // Of its own changes a connection is not told.
      this.#proven.clear();
      return result;
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}
