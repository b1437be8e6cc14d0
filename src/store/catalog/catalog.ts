/**
 * What a store knows of its organizations: names, settings, secrets and the version in force. The
 * table `organizations` means the same in SQLite and in PostgreSQL, and its statements stand here
 * once. How a version is put in force is up to each catalog.
 */
import { randomBytes } from 'node:crypto';
import { type Insertable, type Kysely, type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import {
  checkOrganizationName,
  defaultSettings,
  existingOrganization,
  LARGE_ID,
  unknownOrganization,
} from '../../dataset/organization-name.ts';
import type { OrganizationEntry, Settings } from '../../dataset/store.ts';
import { bigint, derivedIds, text, userPointsKey } from '../../dataset/stored-values.ts';

/** What the catalog knows of an organization, with the number of the version in force; absent while nothing is published. */
export interface CatalogEntry extends OrganizationEntry {
  readonly publication: number | undefined;
}

/** A version that comes into force, and what the organization is from then on. */
export interface Head {
  readonly settings: Settings;
  readonly publication: number;
  readonly version: string;
}

export interface Catalog {
  /** Ascending by name. */
  all(): Promise<readonly CatalogEntry[]>;
  find(name: string): Promise<CatalogEntry | undefined>;
  /** Throws `organization-unknown`. */
  entry(name: string): Promise<CatalogEntry>;
  /** Throws `organization-exists` when the name is taken, ignoring case; ids may repeat (decision 36). */
  create(name: string, settings: Partial<Settings>): Promise<CatalogEntry>;
  /** Throws `organization-unknown`. Cheap enough to be asked several times a second. */
  currentVersion(name: string): Promise<string | undefined>;
  /** See `Store.watch`. */
  watch?(onPublished: (organization: string) => void): () => void;
  close(): Promise<void>;
}

/** A row of `organizations`. SQLite answers integers as bigints, truths as well. */
export interface OrganizationRow {
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
  /** The number of the version in force. */
  generation: number | bigint | null;
  version: string | null;
}

export interface OrganizationTables {
  organizations: OrganizationRow;
}

/** The columns that settings are kept in. */
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

/** The columns that a copy takes over from its original, beside its settings. */
export function identityColumns({ secret, derivedIds, version }: OrganizationEntry, publication?: number) {
  return { secret, derived_ids: derivedIds, generation: publication ?? null, version: version ?? null };
}

const COLUMNS = [
  ...(['name', 'id', 'title', 'domain', 'category_id', 'course_lookup', 'lms_user_properties'] as const),
  ...(['policy', 'user_points_key', 'secret', 'derived_ids', 'generation', 'version'] as const),
] as const satisfies readonly (keyof OrganizationRow)[];

const NAME = sql<string>`lower(name)`;

/** What both catalogs answer alike. `database` may be a transaction. */
export class Organizations {
  readonly #database: Kysely<OrganizationTables>;

  constructor(database: Kysely<OrganizationTables>) {
    this.#database = database;
  }

  async all(): Promise<readonly CatalogEntry[]> {
    const rows = await this.#select().orderBy(NAME).execute();
    return rows.map(readEntry);
  }

  async find(name: string): Promise<CatalogEntry | undefined> {
    // No text of PostgreSQL holds a NUL character, not even one to compare with.
    if (name.includes('\0')) return undefined;
    const row = await this.#select().where(NAME, '=', name.toLowerCase()).executeTakeFirst();
    return row && readEntry(row);
  }

  async entry(name: string): Promise<CatalogEntry> {
    const entry = await this.find(name);
    if (entry === undefined) throw unknownOrganization(name);
    return entry;
  }

  #select(): SelectQueryBuilder<OrganizationTables, 'organizations', Selectable<OrganizationRow>> {
    return this.#database.selectFrom('organizations').select(COLUMNS);
  }
}

/**
 * Makes an organization without data. To be called in a transaction that lets no other organization
 * be made meanwhile. Throws as `create`.
 */
export async function insertOrganization(
  transaction: Kysely<OrganizationTables>,
  name: string,
  settings: Partial<Settings>,
): Promise<CatalogEntry> {
  checkOrganizationName(name);
  const organizations = new Organizations(transaction);
  if ((await organizations.find(name)) !== undefined) throw existingOrganization(name);
  const row: Insertable<OrganizationRow> = {
    ...settingsColumns({ ...defaultSettings(name, await largestId(transaction)), ...settings }),
    ...{ name, secret: randomBytes(32), derived_ids: 'keyed', generation: null, version: null },
  };
  await transaction.insertInto('organizations').values(row).execute();
  return await organizations.entry(name);
}

async function largestId(database: Kysely<OrganizationTables>): Promise<bigint> {
  const { largest } = await database
    .selectFrom('organizations')
    .select(({ fn }) => fn.max('id').as('largest'))
    .where('id', '<', LARGE_ID)
    .executeTakeFirstOrThrow();
  return largest === null ? 0n : bigint(largest);
}

function readEntry(row: Selectable<OrganizationRow>): CatalogEntry {
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
  };
}
