/**
 * The tables of a shared store in PostgreSQL, their schema, and their numbered migrations. Only
 * append to them. Versions are files cut into chunks; the tables list the chunks of each version,
 * and hold the chunks themselves unless these are in a bucket or a folder.
 */
export const SCHEMA = 'corkboard';

const FIRST_TABLES = `
  -- One row. id: random; names the folder of this catalog in local caches. tick: counts what is
  -- published or configured, in the order in which it comes into force. place: where the chunks of
  -- new organizations lie, the address of a bucket or folder; empty: in the table chunks.
  CREATE TABLE catalog (id TEXT NOT NULL, tick BIGINT NOT NULL, place TEXT NOT NULL);
  INSERT INTO catalog VALUES (gen_random_uuid()::text, 0, '');
  -- folder, place: of its chunks. oldest: the oldest version that is kept; absent while nothing is
  -- published. changed: the tick at which it was last changed.
  CREATE TABLE organizations (
    organization INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL, id BIGINT NOT NULL, title TEXT NOT NULL, domain TEXT NOT NULL,
    category_id BIGINT NOT NULL, course_lookup BOOLEAN NOT NULL, lms_user_properties TEXT NOT NULL,
    policy TEXT NOT NULL, user_points_key TEXT NOT NULL, secret BYTEA NOT NULL, derived_ids TEXT NOT NULL,
    generation INTEGER, version TEXT,
    folder TEXT NOT NULL UNIQUE DEFAULT gen_random_uuid()::text,
    place TEXT NOT NULL DEFAULT '', oldest INTEGER, changed BIGINT NOT NULL DEFAULT 0
  );
  CREATE UNIQUE INDEX organizations_by_name ON organizations (lower(name));
  CREATE INDEX organizations_by_change ON organizations (changed);
  -- Every version that was published. Those that are kept have a manifest. uploaded_bytes: what of
  -- them was new to the place.
  CREATE TABLE versions (
    organization INTEGER NOT NULL REFERENCES organizations, publication INTEGER NOT NULL,
    version TEXT NOT NULL, published_ms BIGINT NOT NULL, bytes BIGINT NOT NULL,
    uploaded_bytes BIGINT NOT NULL, manifest BYTEA,
    PRIMARY KEY (organization, publication)
  );
  -- The turn to publish. A higher epoch takes it from those before. locked: whether its holder has
  -- the advisory lock: then the turn is free when the lock is.
  CREATE TABLE leases (
    organization INTEGER PRIMARY KEY REFERENCES organizations, epoch BIGINT NOT NULL,
    ends TIMESTAMPTZ NOT NULL, locked BOOLEAN NOT NULL
  );
  CREATE TABLE chunks (name TEXT COLLATE "C" PRIMARY KEY, bytes BYTEA NOT NULL);
  -- They are dense; compressing them again takes time and gains little.
  ALTER TABLE chunks ALTER bytes SET STORAGE EXTERNAL;
  CREATE TABLE keys (
    id TEXT PRIMARY KEY, digest BYTEA NOT NULL, organization TEXT NOT NULL, label TEXT NOT NULL,
    scope TEXT NOT NULL, redact_email BOOLEAN NOT NULL, redact_name BOOLEAN NOT NULL,
    redact_id BOOLEAN NOT NULL, allow_lms_lookup BOOLEAN NOT NULL,
    rate_requests INTEGER, rate_per_seconds INTEGER,
    created_ms BIGINT NOT NULL, expires_ms BIGINT, retires_ms BIGINT, revoked_ms BIGINT,
    last_used_ms BIGINT, rotated_to TEXT
  );
  CREATE TABLE key_changes (changes BIGINT NOT NULL);
  INSERT INTO key_changes VALUES (0);`;

const NETWORKS_AND_RULES = `
  ALTER TABLE keys ADD networks TEXT;
  ALTER TABLE organizations ADD rules TEXT NOT NULL DEFAULT '{}';`;

const AUDIT = `
  -- Records of administration as lines of JSON, each with the digest of the one before. Rows are
  -- only added. audit_head: one row, the last of them.
  CREATE TABLE audit (sequence BIGINT PRIMARY KEY, record TEXT NOT NULL);
  CREATE TABLE audit_head (sequence BIGINT NOT NULL, digest TEXT NOT NULL);
  INSERT INTO audit_head VALUES (0, repeat('0', 64));`;

/** The permission had no effect there until it allowed LMS ids as well (decision 101). */
const NO_LMS_IDS = `
  UPDATE keys SET allow_lms_lookup = false
  WHERE allow_lms_lookup AND NOT (redact_email OR redact_name OR redact_id);
  UPDATE key_changes SET changes = changes + 1;`;

/** Names of organizations whose removal has begun. */
const REMOVALS = 'CREATE TABLE removals (name TEXT PRIMARY KEY);';

const LMS_SPLITS = 'ALTER TABLE keys ADD lms_splits TEXT;';

/** Statements by name; the names sort in the order of the migrations. */
export const STEPS: Readonly<Record<string, string>> = {
  '0001': FIRST_TABLES,
  '0002': NETWORKS_AND_RULES,
  '0003': AUDIT,
  '0004': NO_LMS_IDS,
  '0005': LMS_SPLITS,
  '0006': REMOVALS,
};

const NAMES = Object.values(STEPS).flatMap((step) => step.match(/(?<=CREATE TABLE )\w+/g) ?? []);
const TABLE = new RegExp(`\\b(FROM|JOIN|INTO|UPDATE) (${NAMES.join('|')})\\b`, 'g');

/** The statement with the schema of each table, because a pooler passes on no search_path. */
export function qualified(sql: string): string {
  return sql.replace(TABLE, `$1 ${SCHEMA}.$2`);
}
