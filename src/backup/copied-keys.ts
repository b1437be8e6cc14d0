/** The keys of an organization that is copied from one store to another. */
import { AppError } from '../domain/app-error.ts';
import type { KeyRow, KeyRows } from '../keys/key-row.ts';
import type { ReplacedOrganization } from '../store/catalog/catalog.ts';
import type { VersionStore } from '../store/files/version-store.ts';

/** A store with its keys. */
export interface KeyedStore {
  readonly store: VersionStore;
  readonly keys: KeyRows;
}

/** The keys of an organization, as keys of `newName`. Throws `organization-unknown`. */
export async function keysFor(
  { store, keys }: KeyedStore,
  name: string,
  newName: string,
): Promise<readonly KeyRow[]> {
  const rows: KeyRow[] = [];
  for (const one of await store.namesOf(name)) rows.push(...(await keys.all(one)));
  return rows.map((row) => ({ ...row, organization: newName }));
}

/**
 * Throws `organization-exists` if a copy would take the place of a different organization without
 * data that has keys of its own: they would open the data of the copy.
 */
export async function refuseOtherKeys(
  target: KeyRows,
  replaced: ReplacedOrganization | undefined,
  copied: readonly KeyRow[],
): Promise<void> {
  if (replaced === undefined || replaced.isSame || replaced.publication !== undefined) return;
  const ids = new Set(copied.map(({ id }) => id));
  const others = (await target.all(replaced.name)).filter(
    (row) => !ids.has(row.id) && row.revoked_ms === null,
  );
  if (others.length === 0) return;
  const { name } = replaced;
  throw new AppError(
    'organization-exists',
    `"${name}" is a different organization in the target, without data but with ${others.length === 1 ? 'a key' : `${others.length} keys`} that would open the copied data; nothing was changed. Revoke its keys, or remove it: corkboard organizations remove ${JSON.stringify(name)}`,
  );
}

/** Copies keys. Returns the ids of those that the target did not know. */
export async function takeKeys(target: KeyRows, rows: readonly KeyRow[]): Promise<ReadonlySet<string>> {
  const known = new Set((await target.all(undefined)).map(({ id }) => id));
  await target.take(rows);
  return new Set(rows.map(({ id }) => id).filter((id) => !known.has(id)));
}
