/**
 * A key as a row of the table `keys`, which is the same in SQLite and PostgreSQL: the statements,
 * the conversion between grants and rows, and the port through which the keyring accesses rows.
 */
import type { Scope } from '../domain/scope.ts';
import type { Expiry, KeyChanges, KeyDates, KeyEntry, KeyGrant } from './keyring.ts';

/**
 * `expires_ms` is the expiry that was chosen for the key; `retires_ms` is the end of an overlap.
 */
export interface KeyRow {
  readonly id: string;
  readonly digest: Uint8Array;
  readonly organization: string;
  readonly label: string;
  readonly scope: string;
  readonly redact_email: boolean;
  readonly redact_name: boolean;
  readonly redact_id: boolean;
  readonly allow_lms_lookup: boolean;
  /** Separated by commas; null: none. */
  readonly lms_splits: string | null;
  readonly rate_requests: number | null;
  readonly rate_per_seconds: number | null;
  /** Separated by commas; null: any address. */
  readonly networks: string | null;
  readonly created_ms: number;
  readonly expires_ms: number | null;
  readonly retires_ms: number | null;
  readonly revoked_ms: number | null;
  readonly last_used_ms: number | null;
  readonly rotated_to: string | null;
}

/** The replacement of a key: its successor, and the end of the overlap. */
export interface Replacement {
  readonly successor: KeyRow;
  readonly retiresMs: number;
}

/** Runs statements in a transaction of the database that has the keys. */
export interface KeyStatements {
  /** The rows of the result. Parameters are $1, $2 and so on. */
  rows(sql: string, parameters?: readonly Exclude<KeyCell, bigint>[]): Promise<KeyCell[][]>;
}

/** The stored rows, shared by concurrent processes. Every change is atomic. */
export interface KeyRows {
  /**
   * A value that changes whenever a key changes, except for its last use. The store decides how
   * stale it may be; changes made through this object may be missing from it.
   */
  version(): Promise<unknown>;
  row(id: string): Promise<KeyRow | undefined>;
  /** Ascending by time of creation, then by id. With `organization`: only its keys. */
  all(organization: string | undefined): Promise<readonly KeyRow[]>;
  insert(row: KeyRow): Promise<void>;
  /**
   * Copies rows from a different store. An existing row keeps its organization and settings, stays
   * revoked, and gets the earlier of two ends, so that a key never lives longer than it does here.
   */
  take(rows: readonly KeyRow[]): Promise<void>;
  /**
   * Records the time of revocation unless there is one, and returns the row after that. Absent when
   * there is no such key.
   */
  revoke(id: string, nowMs: number): Promise<KeyRow | undefined>;
  /**
   * Passes the row to `change` and stores the columns of `CONFIGURE_KEY` of the row it returns. If
   * `change` throws, nothing changes.
   */
  configure(id: string, change: (old: KeyRow | undefined) => KeyRow): Promise<void>;
  /**
   * Gives the keys of an organization its new name. With `transaction`, which must be one of the
   * same database: as a part of it.
   */
  rename(organization: string, newName: string, transaction?: KeyStatements): Promise<void>;
  /**
   * Deletes the keys of an organization, as if they had never existed. `transaction`: as for
   * `rename`.
   */
  remove(organization: string, transaction?: KeyStatements): Promise<void>;
  /**
   * Deletes what deleted rows have left in the files. False if a different process prevents it at
   * the moment. Absent: the database does so itself.
   */
  purge?(): Promise<boolean>;
  /** Stores the replacement that `succeed` returns for the row. If it throws, nothing changes. */
  replace(id: string, succeed: (old: KeyRow | undefined) => Replacement): Promise<void>;
  /**
   * What is wrong with the stored rows, one line each. A database verifies its rows itself: absent.
   */
  findDamage?(): Promise<readonly string[]>;
  /** Throws `data-unreadable` if a row that was not found may exist. Absent like `findDamage`. */
  confirmAbsence?(): Promise<void>;
  /** Records a use unless one after `beforeMs` is recorded. Never throws and never blocks. */
  noteUse(id: string, nowMs: number, beforeMs: number): void;
  close(): Promise<void>;
}

/** The columns that can be changed. */
const CONFIGURED = [
  'label',
  'scope',
  'redact_email',
  'redact_name',
  'redact_id',
  'allow_lms_lookup',
  'lms_splits',
  'rate_requests',
  'rate_per_seconds',
  'networks',
  'expires_ms',
] as const satisfies readonly (keyof KeyRow)[];
const COLUMNS = [
  ...(['id', 'digest', 'organization'] as const),
  ...CONFIGURED,
  ...(['created_ms', 'retires_ms', 'revoked_ms', 'last_used_ms', 'rotated_to'] as const),
] as const satisfies readonly (keyof KeyRow)[];
/** The names of the columns, in their order. */
export const KEY_COLUMNS: readonly string[] = COLUMNS;
const NAMES = COLUMNS.join(', ');
const TRUTHS: ReadonlySet<string> = new Set<keyof KeyRow>([
  'redact_email',
  'redact_name',
  'redact_id',
  'allow_lms_lookup',
]);

/**
 * Each comment lists the parameters in their order. No two names of organizations differ only in
 * case. `more`: a further column, which is ignored.
 */
export const selectKey = (more = 'NULL') => `SELECT ${NAMES}, ${more} FROM keys WHERE id = ?`;
/** The organization, or null for all. */
export const selectKeys = (more = 'NULL') => `
  SELECT ${NAMES}, ${more} FROM keys
  WHERE lower(organization) = lower(coalesce(?, organization)) ORDER BY created_ms, id`;
/** `rowCells`. */
export const INSERT_KEY = `INSERT INTO keys (${NAMES}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;
/** `rowCells`. */
export const TAKE_KEY = `${INSERT_KEY} ON CONFLICT (id) DO UPDATE SET
  ${COLUMNS.map((column) => `${column} = ${takenValue(column)}`).join(', ')}`;
/** Now, and the id. */
export const REVOKE_KEY = 'UPDATE keys SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?';
/** `configuredCells`, and the id. */
export const CONFIGURE_KEY = `
  UPDATE keys SET ${CONFIGURED.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;
/** The new name, and the former one. */
export const RENAME_KEYS = 'UPDATE keys SET organization = ? WHERE lower(organization) = lower(?)';
/** The organization. */
export const REMOVE_KEYS = 'DELETE FROM keys WHERE lower(organization) = lower(?)';
/** The end of the overlap, the id of the successor, and the id. */
export const RETIRE_KEY = 'UPDATE keys SET retires_ms = ?, rotated_to = ? WHERE id = ?';

/**
 * The value of a column for a copied key that exists already. It stays the key that it is: of the
 * same organization, with its settings, so that a copy undoes no change; ends are never moved
 * later, so that an old copy cannot revive a key.
 */
function takenValue(column: keyof KeyRow): string {
  if (column === 'revoked_ms') return 'coalesce(keys.revoked_ms, excluded.revoked_ms)';
  if (column === 'rotated_to') return 'coalesce(keys.rotated_to, excluded.rotated_to)';
  if (column === 'last_used_ms') return firstOf(column, '>');
  return column === 'expires_ms' || column === 'retires_ms' ? firstOf(column, '<') : `keys.${column}`;
}

/** The earlier or the later of two times, or the only one. */
function firstOf(column: string, comparison: '<' | '>'): string {
  // A comparison with null is not true; ELSE then returns the time that is set, if any.
  return `CASE WHEN keys.${column} ${comparison} excluded.${column} THEN keys.${column}
    ELSE coalesce(excluded.${column}, keys.${column}) END`;
}

export type KeyCell = string | number | bigint | boolean | Uint8Array | null;

/** The values of a row in the order of the columns. */
export function rowCells(row: KeyRow): Exclude<KeyCell, bigint>[] {
  return COLUMNS.map((column) => row[column]);
}

/** The values of the columns that can be changed. */
export function configuredCells(row: KeyRow): Exclude<KeyCell, bigint>[] {
  return CONFIGURED.map((column) => row[column]);
}

/**
 * Reads a row as drivers return it: SQLite has no booleans, and the PostgreSQL driver returns
 * 64-bit integers as bigint.
 */
export function readRow(cells: readonly KeyCell[]): KeyRow {
  const named = COLUMNS.map((column, index) => {
    const cell = cells[index] ?? null;
    if (TRUTHS.has(column)) return [column, Boolean(cell)];
    return [column, typeof cell === 'bigint' ? Number(cell) : cell];
  });
  // Both tables have typed columns, so the declared types hold, although no driver declares them.
  return Object.fromEntries(named) as KeyRow;
}

export function newRow(
  id: string,
  digest: Uint8Array,
  grant: KeyGrant,
  createdMs: number,
  expiry: Expiry,
): KeyRow {
  return {
    id,
    digest,
    organization: grant.organization,
    ...grantColumns(grant),
    created_ms: createdMs,
    expires_ms: expiryColumn(expiry),
    retires_ms: null,
    revoked_ms: null,
    last_used_ms: null,
    rotated_to: null,
  };
}

/** The row after the changes; `entry` is the entry of `row` before them. */
export function changedRow(row: KeyRow, entry: KeyEntry, changes: KeyChanges): KeyRow {
  const { expiry } = changes;
  const expires_ms = expiry === undefined ? row.expires_ms : expiryColumn(expiry);
  return { ...row, ...grantColumns({ ...entry, ...changes }), expires_ms };
}

function grantColumns(grant: KeyGrant) {
  return {
    label: grant.label,
    scope: renderScope(grant.scope),
    redact_email: grant.redact.email,
    redact_name: grant.redact.name,
    redact_id: grant.redact.id,
    allow_lms_lookup: grant.allowLmsLookup ?? false,
    lms_splits: grant.lmsSplits?.join() ?? null,
    rate_requests: grant.rateLimit?.requests ?? null,
    rate_per_seconds: grant.rateLimit?.perSeconds ?? null,
    networks: grant.networks?.join() ?? null,
  };
}

function expiryColumn(expiry: Expiry): number | null {
  return expiry === 'never' ? null : expiry;
}

/** The entry of a row. `scope` is the parsed scope of the row, if it was parsed before. */
export function readKeyEntry(row: KeyRow, scope?: Scope): KeyEntry {
  return {
    id: row.id,
    ...readKeyDates(row),
    label: row.label,
    scope: scope ?? readScope(row.scope),
    redact: { email: row.redact_email, name: row.redact_name, id: row.redact_id },
    allowLmsLookup: row.allow_lms_lookup,
    lmsSplits: row.lms_splits?.split(','),
    rateLimit: readRateLimit(row),
    networks: row.networks?.split(','),
    rotatedTo: row.rotated_to ?? undefined,
  };
}

export function readKeyDates(row: KeyRow): KeyDates {
  const endsMs = Math.min(row.expires_ms ?? Infinity, row.retires_ms ?? Infinity);
  return {
    organization: row.organization,
    createdMs: row.created_ms,
    expiresMs: endsMs === Infinity ? undefined : endsMs,
    revokedMs: row.revoked_ms ?? undefined,
    lastUsedMs: row.last_used_ms ?? undefined,
  };
}

// Ids are decimal strings, because JSON numbers are read as doubles (decision 3).
function renderScope(scope: Scope): string {
  return JSON.stringify(scope, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

function readScope(text: string): Scope {
  const stored: {
    readonly boards: 'all' | readonly string[];
    readonly users: 'all' | 'of-boards' | readonly string[];
  } = JSON.parse(text);
  return {
    boards: typeof stored.boards === 'string' ? stored.boards : stored.boards.map(BigInt),
    users: typeof stored.users === 'string' ? stored.users : stored.users.map(BigInt),
  };
}

function readRateLimit(row: KeyRow): KeyEntry['rateLimit'] {
  if (row.rate_requests === null || row.rate_per_seconds === null) return undefined;
  return { requests: row.rate_requests, perSeconds: row.rate_per_seconds };
}
