/** A key as a row of `keys.db`: the table, and the way from a grant into it and out of it. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { AppError } from '../app-error.ts';
import type { Scope } from '../dataset/scope.ts';
import type { KeyEntry, KeyGrant } from './keyring.ts';

const SCHEMA_VERSION = 1;

// `expires_ms` is what the key was made with and what its successor gets; `retires_ms` is the end of an overlap.
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    organization TEXT NOT NULL,
    label TEXT NOT NULL,
    scope TEXT NOT NULL,
    redact_email INTEGER NOT NULL,
    redact_name INTEGER NOT NULL,
    rate_requests INTEGER,
    rate_per_seconds INTEGER,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    retires_ms INTEGER,
    revoked_ms INTEGER,
    last_used_ms INTEGER,
    rotated_to TEXT
  ) STRICT, WITHOUT ROWID;
  PRAGMA user_version = ${SCHEMA_VERSION};`;

export const INSERT_KEY = `
  INSERT INTO keys (id, digest, organization, label, scope, redact_email, redact_name,
    rate_requests, rate_per_seconds, created_ms, expires_ms)
  VALUES (:id, :digest, :organization, :label, :scope, :redactEmail, :redactName,
    :rateRequests, :ratePerSeconds, :createdMs, :expiresMs)`;

export interface KeyRow {
  readonly id: string;
  readonly digest: Uint8Array;
  readonly organization: string;
  readonly label: string;
  readonly scope: string;
  readonly redact_email: number;
  readonly redact_name: number;
  readonly rate_requests: number | null;
  readonly rate_per_seconds: number | null;
  readonly created_ms: number;
  readonly expires_ms: number | null;
  readonly retires_ms: number | null;
  readonly revoked_ms: number | null;
  readonly last_used_ms: number | null;
  readonly rotated_to: string | null;
}

/** Makes the table in a new file. Throws `data-unreadable` for the file of a newer version. */
export function prepareSchema(database: DatabaseSync): void {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() ?? {};
  if (version === SCHEMA_VERSION) return;
  if (version !== 0) {
    throw new AppError('data-unreadable', 'The keys were written by a newer Corkboard; use that version.');
  }
  database.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`);
}

/** The row as typed: the table is STRICT, so the declared types hold. */
export function keyRow(row: Record<string, SQLOutputValue>): KeyRow {
  // The driver knows no columns, so their types can only be told to the compiler.
  return row as unknown as KeyRow;
}

export function rowValues(
  id: string,
  digest: Uint8Array,
  grant: KeyGrant,
  createdMs: number,
  expiresMs: number | undefined,
): Record<string, SQLInputValue> {
  return {
    id,
    digest,
    organization: grant.organization,
    label: grant.label,
    scope: renderScope(grant.scope),
    redactEmail: Number(grant.redact.email),
    redactName: Number(grant.redact.name),
    rateRequests: grant.rateLimit?.requests ?? null,
    ratePerSeconds: grant.rateLimit?.perSeconds ?? null,
    createdMs,
    expiresMs: expiresMs ?? null,
  };
}

/** The entry of a row; `scope` is its scope where that has been read before. */
export function readKeyEntry(row: KeyRow, scope?: Scope): KeyEntry {
  const endsMs = Math.min(row.expires_ms ?? Infinity, row.retires_ms ?? Infinity);
  return {
    id: row.id,
    organization: row.organization,
    label: row.label,
    scope: scope ?? readScope(row.scope),
    redact: { email: row.redact_email !== 0, name: row.redact_name !== 0 },
    rateLimit: readRateLimit(row),
    createdMs: row.created_ms,
    expiresMs: endsMs === Infinity ? undefined : endsMs,
    revokedMs: row.revoked_ms ?? undefined,
    lastUsedMs: row.last_used_ms ?? undefined,
    rotatedTo: row.rotated_to ?? undefined,
  };
}

// Ids as decimal strings, because a JSON number is read as a double (decision 3).
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
