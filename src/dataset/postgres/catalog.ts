/**
 * The organizations of a database, their settings and the publication in force, in one table. A publication writes its
 * row in the transaction that writes its data, so that both change together or not at all (decision 31).
 */
import { randomBytes } from 'node:crypto';
import type { VersionFacts } from '../copying.ts';
import {
  checkOrganizationName,
  defaultSettings,
  existingOrganization,
  LARGE_ID,
  unknownOrganization,
} from '../organization-name.ts';
import type { OrganizationEntry, Settings } from '../store.ts';
import { derivedIds, userPointsKey } from '../stored-values.ts';
import type { Asking, Database, Parameter, Value } from './database.ts';

/** What the catalog knows of an organization, with the publication in force; absent while nothing is published. */
export interface CatalogEntry extends OrganizationEntry {
  /** The organization's number in this store. */
  readonly organization: number;
  readonly publication: number | undefined;
}

/** On which the names of organizations are told that have a new version. */
export const PUBLISHED_CHANNEL = 'corkboard';

const COLUMNS =
  'organization, name, id, title, domain, category_id, course_lookup, lms_user_properties, policy, user_points_key, secret, publication, version, derived_ids';

export class Catalog {
  readonly #asking: Asking;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /** Ascending by name, ignoring case. */
  async all(): Promise<readonly CatalogEntry[]> {
    return (await this.#select('ORDER BY lower(name) COLLATE "C"')).map(entryOf);
  }

  /** Throws `organization-unknown`. */
  async entry(name: string): Promise<CatalogEntry> {
    const entry = await this.find(name);
    if (entry === undefined) throw unknownOrganization(name);
    return entry;
  }

  /** Throws `organization-exists` when the name is taken, ignoring case; ids may repeat (decision 36). */
  static async create(database: Database, name: string, settings: Partial<Settings>): Promise<CatalogEntry> {
    checkOrganizationName(name);
    return await database.session(async (session) => {
      // Two that are made at the same time would get the same number, and the same id.
      await session.run('BEGIN; LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE;');
      const catalog = new Catalog(session);
      if ((await catalog.find(name)) !== undefined) {
        await session.run('ROLLBACK');
        throw existingOrganization(name);
      }
      await catalog.#insert(name, { ...defaultSettings(name, await catalog.#largestId()), ...settings });
      await session.run('COMMIT');
      return await catalog.entry(name);
    });
  }

  /** Puts a publication, whose rows are written, with its settings in force, when the transaction ends. */
  async publish(organization: number, settings: Settings, facts: VersionFacts): Promise<void> {
    const { version, publication, publishedMs, lastSequence, counts } = facts;
    await this.#asking.rows(
      `INSERT INTO versions (organization, publication, version, published_ms, last_sequence, events, users, boards,
         pins, organization_id, title, domain, category_id, course_lookup, lms_user_properties, policy,
         user_points_key)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
      [
        ...[organization, publication, version, publishedMs, lastSequence],
        ...[counts.events, counts.users, counts.boards, counts.pins],
        ...columnsOf(settings),
      ],
    );
    await this.#write(organization, settings, ', publication = $10, version = $11', [publication, version]);
    // Sent when the transaction ends.
    await this.#asking.rows(
      `SELECT pg_notify('${PUBLISHED_CHANNEL}', name) FROM organizations WHERE organization = $1`,
      [organization],
    );
  }

  /**
   * Gives an organization without data the secret of the one that it is a copy of, and what follows
   * from it.
   */
  async adopt(organization: number, original: OrganizationEntry): Promise<void> {
    await this.#asking.rows(
      'UPDATE organizations SET secret = $2, derived_ids = $3 WHERE organization = $1',
      [organization, original.secret, original.derivedIds],
    );
  }

  /** Keeps settings of an organization that has nothing published yet. */
  async configure(organization: number, settings: Settings): Promise<void> {
    await this.#write(organization, settings, '', []);
  }

  /** Throws `organization-unknown`. */
  async currentVersion(name: string): Promise<string | undefined> {
    const [row] = await this.#asking.rows('SELECT version FROM organizations WHERE lower(name) = lower($1)', [
      name,
    ]);
    if (row === undefined) throw unknownOrganization(name);
    return optional(row[0], String);
  }

  async find(name: string): Promise<CatalogEntry | undefined> {
    // No text of PostgreSQL holds a NUL character, not even one to compare with.
    if (name.includes('\0')) return undefined;
    return (await this.#select('WHERE lower(name) = lower($1)', [name])).map(entryOf)[0];
  }

  async #select(where: string, parameters: readonly Parameter[] = []): Promise<Value[][]> {
    return await this.#asking.rows(`SELECT ${COLUMNS} FROM organizations ${where}`, parameters);
  }

  async #largestId(): Promise<bigint> {
    const [row] = await this.#asking.rows('SELECT coalesce(max(id), 0) FROM organizations WHERE id < $1', [
      LARGE_ID,
    ]);
    return BigInt(row?.[0] as bigint);
  }

  async #insert(name: string, settings: Settings): Promise<void> {
    await this.#asking.rows(
      `INSERT INTO organizations (${COLUMNS})
       SELECT coalesce(max(organization), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL, NULL, 'keyed'
       FROM organizations`,
      [name, ...columnsOf(settings), randomBytes(32)],
    );
  }

  async #write(
    organization: number,
    settings: Settings,
    assignments: string,
    values: readonly Parameter[],
  ): Promise<void> {
    await this.#asking.rows(
      `UPDATE organizations SET id = $2, title = $3, domain = $4, category_id = $5, course_lookup = $6,
         lms_user_properties = $7, policy = $8, user_points_key = $9${assignments} WHERE organization = $1`,
      [organization, ...columnsOf(settings), ...values],
    );
  }
}

/** Settings in the order of `COLUMNS`. */
function columnsOf(settings: Settings): readonly Parameter[] {
  return [
    settings.id,
    settings.title,
    settings.domain,
    settings.categoryId,
    settings.courseLookup,
    JSON.stringify(settings.lmsUserProperties),
    settings.policy,
    settings.userPointsKey,
  ];
}

function entryOf(row: readonly Value[]): CatalogEntry {
  const [organization, name, id, title, domain, categoryId, courseLookup, properties, policy] = row;
  const [pointsKey, secret, publication, version, derived] = row.slice(9);
  if (!(secret instanceof Uint8Array)) throw new Error('the catalog holds no secret for an organization');
  return {
    organization: Number(organization),
    name: String(name),
    settings: {
      id: BigInt(id as bigint),
      title: String(title),
      domain: String(domain),
      categoryId: BigInt(categoryId as bigint),
      courseLookup: courseLookup === true,
      lmsUserProperties: JSON.parse(String(properties)),
      userPointsKey: userPointsKey(pointsKey),
      policy: String(policy),
    },
    publication: optional(publication, Number),
    version: optional(version, String),
    secret,
    derivedIds: derivedIds(derived),
  };
}

function optional<T>(value: Value | undefined, read: (value: Value) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value);
}
