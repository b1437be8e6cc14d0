/**
 * The catalog of a store: names, settings, secrets and current versions of organizations. The table
 * `organizations` is the same in SQLite and PostgreSQL, and its common statements are here. Each
 * catalog has its own way to make a version current.
 */
import { randomBytes } from 'node:crypto';
import {
  checkOrganizationName,
  damagedName,
  defaultSettings,
  differentlyNamed,
  differentOrganization,
  existingOrganization,
  LARGE_ID,
  refuseRemoved,
  unknownOrganization,
} from '../organization-name.ts';
import type { OrganizationEntry, RuleChanges, Settings } from '../store.ts';
import { bigint, derivedIds, text, userPointsKey } from '../stored-values.ts';

/**
 * The catalog's entry of an organization, with the number of the current version; absent while
 * nothing is published.
 */
export interface CatalogEntry extends OrganizationEntry {
  readonly publication: number | undefined;
}

/** A version that becomes current, with the settings that apply from then on. */
export interface NextHead {
  readonly settings: Settings;
  readonly publication: number;
  readonly version: string;
}

export interface Catalog {
  /** Ascending by name. Contains damaged entries as they are; look-ups of one refuse it. */
  all(): Promise<readonly CatalogEntry[]>;
  /** The names in `all`, without reading the entries. */
  names(): Promise<readonly string[]>;
  /** The number of organizations with a version. */
  countPublished(): Promise<number>;
  /** Throws `data-unreadable` when the entry is damaged; so does `entry`. */
  find(name: string): Promise<CatalogEntry | undefined>;
  /** Throws `organization-unknown`. */
  entry(name: string): Promise<CatalogEntry>;
  /**
   * Throws `organization-exists` if the name is taken, ignoring case. Ids may repeat (decision 36).
   */
  create(name: string, settings: Partial<Settings>): Promise<CatalogEntry>;
  /**
   * The organization that a copy of `original` replaces: the same one, which has its secret, or one
   * of its name, ignoring case, that has no data or whose entry is damaged. Absent if there is
   * none. Throws `organization-exists` if the same organization has a different name here, or if
   * its name belongs to a different one with data: keys would open the data of another
   * organization. Throws `organization-busy` if one of them is being removed.
   */
  replacedBy(original: OrganizationEntry): Promise<ReplacedOrganization | undefined>;
  /**
   * The names that keys of an organization may still have, in addition to its own: those before a
   * renaming that has not finished.
   */
  formerNames(name: string): Promise<readonly string[]>;
  /** See `Store.changeRules`. */
  changeRules(name: string, changes: RuleChanges): Promise<void>;
  /** Throws `organization-unknown`. Cheap enough for several calls a second. */
  currentVersion(name: string): Promise<string | undefined>;
  /** What is wrong with the stored entries, one line each. */
  findDamage(): Promise<readonly string[]>;
  /** See `Store.watch`. */
  watch?(onPublished: (organization: string) => void): () => void;
  close(): Promise<void>;
}

/** The value of a column. */
export type ColumnValue = string | number | bigint | boolean | Uint8Array | null;

/** Runs statements that mean the same in both databases. */
export interface CatalogStatements {
  /**
   * The rows of a small result, with values in the order of the columns. Parameters are $1, $2 and
   * so on.
   */
  rows(sql: string, parameters?: readonly ColumnValue[]): Promise<ColumnValue[][]>;
}

/** A row of `organizations`. SQLite returns integers and booleans as bigints. */
interface OrganizationRow {
  name: string;
  id: bigint;
  title: string;
  domain: string;
  category_id: bigint;
  course_lookup: boolean | bigint;
  lms_user_properties: string;
  policy: string;
  user_points_key: string;
  secret: Uint8Array;
  derived_ids: string;
  /** The number of the current version. */
  generation: number | bigint | null;
  version: string | null;
  /** JSON. */
  rules: string;
}

/** The columns that hold settings. */
export function settingsColumns(settings: Settings) {
  return {
    id: settings.id,
    title: settings.title,
    domain: settings.domain,
    category_id: settings.categoryId,
    course_lookup: settings.courseLookup,
    lms_user_properties: JSON.stringify(settings.lmsUserProperties),
    policy: settings.policy,
    user_points_key: settings.userPointsKey,
  };
}

/** What makes a copy the same organization as its original, and its rules. */
export type OrganizationIdentity = Pick<OrganizationEntry, 'secret' | 'derivedIds' | 'rules'>;

function identityColumns({ secret, derivedIds, rules }: OrganizationIdentity) {
  return { secret, derived_ids: derivedIds, rules: JSON.stringify(rules) };
}

/**
 * The columns that a copy takes from its original. The rules of an organization that has been here
 * before stay (decision 85).
 */
export function copiedColumns(
  original: OrganizationEntry,
  replaced: ReplacedOrganization | undefined,
  publication?: number,
) {
  const { rules, ...identity } = identityColumns(original);
  return {
    ...settingsColumns(original.settings),
    ...identity,
    ...(replaced?.isSame !== true && { rules }),
    generation: publication ?? null,
    version: original.version ?? null,
  };
}

/** The organization that a copy replaces. */
export interface ReplacedOrganization {
  readonly name: string;
  /** Number of its current version; absent while nothing is published. */
  readonly publication: number | undefined;
  /** Whether it has the secret of the copy; false if its entry is damaged. */
  readonly isSame: boolean;
}

export const COLUMNS = [
  ...(['name', 'id', 'title', 'domain', 'category_id', 'course_lookup', 'lms_user_properties'] as const),
  ...(['policy', 'user_points_key', 'secret', 'derived_ids', 'generation', 'version'] as const),
  'rules',
] as const satisfies readonly (keyof OrganizationRow)[];

const BEING_REMOVED = 'EXISTS (SELECT 1 FROM removals WHERE removals.name = organizations.name)';

export const SELECT = `SELECT ${COLUMNS.join(', ')}, ${BEING_REMOVED}`;

/** The queries that both catalogs share. `database` may be a transaction. */
export class Organizations {
  readonly #database: CatalogStatements;
  readonly #check: string;
  readonly #damage: string;

  /**
   * `check`: a column for look-ups of one entry, which refuses damaged ones. `damage`: a condition
   * that they meet.
   */
  constructor(database: CatalogStatements, check = 'NULL', damage = 'false') {
    this.#database = database;
    this.#check = check;
    this.#damage = damage;
  }

  async all(): Promise<readonly CatalogEntry[]> {
    return (await this.#database.rows(`${SELECT} FROM organizations ORDER BY lower(name)`)).map(readEntry);
  }

  async names(): Promise<readonly string[]> {
    const rows = await this.#database.rows('SELECT name FROM organizations ORDER BY lower(name)');
    return rows.map(([name]) => text(name));
  }

  async countPublished(): Promise<number> {
    const [row] = await this.#database.rows('SELECT count(*) FROM organizations WHERE version IS NOT NULL');
    return Number(row?.[0]);
  }

  async find(name: string): Promise<CatalogEntry | undefined> {
    // A PostgreSQL text cannot contain a NUL character, not even in a parameter.
    if (name.includes('\0')) return undefined;
    const sql = `${SELECT}, ${this.#check} FROM organizations WHERE lower(name) = $1`;
    const [row] = await this.#database.rows(sql, [name.toLowerCase()]);
    return row && readEntry(row);
  }

  async entry(name: string): Promise<CatalogEntry> {
    const entry = await this.find(name);
    if (entry === undefined) throw unknownOrganization(name);
    return entry;
  }

  /** See `Catalog.replacedBy`. */
  async replacedBy({ name, secret }: OrganizationEntry): Promise<ReplacedOrganization | undefined> {
    const rows = await this.#database.rows(
      `SELECT name, generation, secret = $1, ${this.#damage}, ${BEING_REMOVED} FROM organizations
       WHERE secret = $1 OR lower(name) = $2 ORDER BY lower(name)`,
      [secret, name.toLowerCase()],
    );
    const candidates = rows.map(([candidate, generation, hasSecret, isDamaged, isBeingRemoved]) => ({
      name: text(candidate),
      isBeingRemoved: Boolean(isBeingRemoved),
      publication: generation === null ? undefined : Number(generation),
      hasSecret: Boolean(hasSecret),
      isDamaged: Boolean(isDamaged),
    }));
    candidates.forEach(refuseRemoved);
    const namesake = candidates.find((one) => one.name.toLowerCase() === name.toLowerCase());
    const same = candidates.find(({ hasSecret }) => hasSecret);
    if (namesake?.isDamaged) return { ...namesake, isSame: false };
    if (namesake?.hasSecret) return { ...namesake, isSame: true };
    if (same?.isDamaged) throw damagedName(name, same.name);
    if (same !== undefined) throw differentlyNamed(name, same.name, namesake === undefined);
    if (namesake?.publication !== undefined) throw differentOrganization(namesake.name);
    return namesake && { ...namesake, isSame: false };
  }

  /**
   * Notes, durably, that an organization is about to be removed, so that a removal that is killed
   * is noticed.
   */
  async beginRemoval(name: string): Promise<void> {
    await this.#database.rows('INSERT INTO removals VALUES ($1) ON CONFLICT DO NOTHING', [name]);
  }

  async changeRules(name: string, changes: RuleChanges): Promise<void> {
    const { name: known, rules } = await this.entry(name);
    const update = 'UPDATE organizations SET rules = $1 WHERE name = $2';
    await this.#database.rows(update, [JSON.stringify({ ...rules, ...changes }), known]);
  }
}

function newIdentity(): OrganizationIdentity {
  return { secret: randomBytes(32), derivedIds: 'keyed', rules: {} };
}

/**
 * Creates an organization without data, by default a new one. Call it in a transaction that blocks
 * the creation of other organizations. Throws the errors of `create`.
 */
export async function insertOrganization(
  transaction: CatalogStatements,
  name: string,
  settings: Partial<Settings>,
  identity: OrganizationIdentity = newIdentity(),
): Promise<CatalogEntry> {
  checkOrganizationName(name);
  const organizations = new Organizations(transaction);
  if ((await organizations.find(name)) !== undefined) throw existingOrganization(name);
  const row: OrganizationRow = {
    ...settingsColumns({ ...defaultSettings(name, await largestId(transaction)), ...settings }),
    ...identityColumns(identity),
    ...{ name, generation: null, version: null },
  };
  const places = COLUMNS.map((_, index) => `$${index + 1}`);
  await transaction.rows(
    `INSERT INTO organizations (${COLUMNS.join(', ')}) VALUES (${places.join(', ')})`,
    COLUMNS.map((column) => row[column]),
  );
  return await organizations.entry(name);
}

/**
 * Changes the name of an organization. Call it in a transaction that blocks the creation and
 * renaming of others. Throws `organization-exists` if a different organization has the name,
 * ignoring case, and `organization-malformed`.
 */
export async function renameOrganization(
  transaction: CatalogStatements,
  name: string,
  newName: string,
): Promise<void> {
  await refuseTaken(transaction, name, newName);
  await transaction.rows('UPDATE organizations SET name = $1 WHERE name = $2', [newName, name]);
}

/**
 * The columns of an organization whose data is removed: like those of a new one, with a secret of
 * its own.
 */
export function emptyColumns(name: string) {
  return {
    ...settingsColumns(defaultSettings(name, 0n)),
    ...identityColumns(newIdentity()),
    ...{ generation: null, version: null },
  };
}

/** Throws the errors of `renameOrganization`. */
export async function refuseTaken(database: CatalogStatements, name: string, newName: string): Promise<void> {
  checkOrganizationName(newName);
  const sql = 'SELECT name FROM organizations WHERE lower(name) = $1 AND name <> $2';
  const [taken] = await database.rows(sql, [newName.toLowerCase(), name]);
  if (taken !== undefined) throw existingOrganization(text(taken[0]));
}

/** The assignments after SET, with parameters from $1 on, and their values. */
export function assignments(columns: Readonly<Record<string, ColumnValue>>): {
  readonly sql: string;
  readonly parameters: readonly ColumnValue[];
} {
  const sql = Object.keys(columns).map((column, index) => `${column} = $${index + 1}`);
  return { sql: sql.join(', '), parameters: Object.values(columns) };
}

async function largestId(database: CatalogStatements): Promise<bigint> {
  const [row] = await database.rows('SELECT max(id) FROM organizations WHERE id < $1', [LARGE_ID]);
  return bigint(row?.[0] ?? 0n);
}

function readEntry(values: readonly ColumnValue[]): CatalogEntry {
  const row = Object.fromEntries(
    COLUMNS.map((column, index) => [column, values[index]]),
  ) as unknown as OrganizationRow;
  if (!(row.secret instanceof Uint8Array)) throw new Error('the catalog holds no secret for an organization');
  return {
    name: row.name,
    settings: {
      id: bigint(row.id),
      title: row.title,
      domain: row.domain,
      categoryId: bigint(row.category_id),
      courseLookup: Boolean(row.course_lookup),
      lmsUserProperties: JSON.parse(text(row.lms_user_properties)),
      userPointsKey: userPointsKey(row.user_points_key),
      policy: row.policy,
    },
    publication: row.generation === null ? undefined : Number(row.generation),
    version: row.version ?? undefined,
    secret: row.secret,
    derivedIds: derivedIds(row.derived_ids),
    rules: JSON.parse(row.rules),
    isBeingRemoved: Boolean(values[COLUMNS.length]),
  };
}
