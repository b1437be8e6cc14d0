/**
 * Restores organizations from a backup: all of them, or none. An organization is the one with its
 * secret, whatever its name: it replaces itself, keeps the name, the rules and the keys that it has
 * in the target, and users who have been erased there since are erased from the restored data.
 */
import { join } from 'node:path';
import { AppError } from '../domain/app-error.ts';
import { FULL_SCOPE } from '../domain/scope.ts';
import type { ReplacedOrganization } from '../store/catalog/catalog.ts';
import { openFolderStore } from '../store/files/open-folder.ts';
import type { CopyOptions, Original } from '../store/files/version-files.ts';
import type { VersionStore } from '../store/files/version-store.ts';
import { eraseUsers } from '../store/forgotten.ts';
import { isUnknown } from '../store/organization-name.ts';
import type { OrganizationEntry, Rules, Store } from '../store/store.ts';
import { openTemporaryFolder } from '../system/temporary-folder.ts';
import { type KeyedStore, keysFor, refuseOtherKeys, takeKeys } from './copied-keys.ts';

export interface RestoreOptions extends CopyOptions {
  /** Only these, by their names in the target or else in the backup; absent: all of the backup. */
  readonly organizations: readonly string[] | undefined;
  /** Whether organizations with data are replaced. */
  readonly replace: boolean;
  /** Removes data about the organizations outside the store, before they become current. */
  readonly removeOther: (organizations: readonly string[]) => Promise<void>;
}

export interface Restored {
  /** Its name in the target. */
  readonly organization: string;
  /** Absent if there is no data. */
  readonly version: string | undefined;
  /** The number of keys in the backup. */
  readonly keys: number;
  /** How many of them the target did not know; the others are as they were. */
  readonly newKeys: number;
  /** Users who were erased from the data of the backup now. */
  readonly erased: readonly bigint[];
  /** False if the replaced data could not be read. */
  readonly knowsErased: boolean;
  /** The rules that are in force, and whose they are. */
  readonly rules: Rules;
  readonly rulesOf: 'target' | 'backup';
  /** Whether the rules of the backup differ from those in force. */
  readonly hasOtherRules: boolean;
}

/** An organization of the backup, and what it replaces. */
interface Chosen {
  readonly entry: OrganizationEntry;
  /** Its name in the target. */
  readonly name: string;
  readonly replaced: ReplacedOrganization | undefined;
}

interface Plan extends Chosen {
  readonly original: Original;
  /** Users who are erased in the replaced data; undefined if it cannot be read. */
  readonly forgotten: readonly bigint[] | undefined;
  readonly erased: readonly bigint[];
}

/**
 * Throws `restore-refused` if the target has data, unless it may be replaced, and
 * `organization-exists` if an organization has a different name there, or its name belongs to a
 * different organization.
 */
export async function restore(
  backup: KeyedStore,
  target: KeyedStore,
  options: RestoreOptions,
): Promise<readonly Restored[]> {
  const chosen = await chooseOrganizations(backup, target, options);
  using folder = openTemporaryFolder();
  const scratch = await openFolderStore(join(folder.path, 'data'));
  const plans: Plan[] = [];
  try {
    for (const one of chosen) plans.push(await planOf(backup, scratch, target, one));
    const rows = await Promise.all(plans.map(({ entry, name }) => keysFor(backup, entry.name, name)));
    for (const [at, { replaced }] of plans.entries()) await refuseOtherKeys(target.keys, replaced, rows[at]!);
    let newKeys: ReadonlySet<string> = new Set();
    await target.store.adopt(
      plans.map(({ original, name }) => ({ ...original, entry: { ...original.entry, name } })),
      {
        ...options,
        async beforeCurrent() {
          for (const plan of plans) await refuseNews(target.store, plan);
          await options.removeOther(plans.map(({ name }) => name));
          // Keys first: keys without data give access to nothing.
          newKeys = await takeKeys(target.keys, rows.flat());
        },
      },
    );
    return await Promise.all(
      plans.map(async (plan, at) => ({
        organization: plan.name,
        version: plan.original.entry.version,
        keys: rows[at]!.length,
        newKeys: rows[at]!.filter(({ id }) => newKeys.has(id)).length,
        erased: plan.erased,
        knowsErased: plan.forgotten !== undefined,
        ...(await rulesAfter(target.store, plan)),
      })),
    );
  } finally {
    for (const { original } of plans) original.file?.release();
    await scratch.close();
  }
}

export interface PlannedRestore {
  /** Its name in the target. */
  readonly organization: string;
  /** Absent if there is no data. */
  readonly version: string | undefined;
  /** Whether it replaces data. */
  readonly replaces: boolean;
  /** The number of keys in the backup. */
  readonly keys: number;
  /** Users who would be erased from the data of the backup; undefined if that cannot be read. */
  readonly erased: readonly bigint[] | undefined;
}

/** What `restore` would do. Throws the same, and changes nothing. */
export async function planRestore(
  backup: KeyedStore,
  target: KeyedStore,
  options: Pick<RestoreOptions, 'organizations' | 'replace'>,
): Promise<readonly PlannedRestore[]> {
  const plans: PlannedRestore[] = [];
  for (const chosen of await chooseOrganizations(backup, target, options)) {
    const { entry, name, replaced } = chosen;
    const rows = await keysFor(backup, entry.name, name);
    await refuseOtherKeys(target.keys, replaced, rows);
    const { forgotten, erased } = await erasuresOf(backup, target, chosen);
    plans.push({
      ...{ organization: name, version: entry.version, replaces: replaced?.publication !== undefined },
      ...{ keys: rows.length, erased: forgotten && erased },
    });
  }
  return plans;
}

async function rulesAfter(
  store: Store,
  { entry, name, replaced }: Plan,
): Promise<Pick<Restored, 'rules' | 'rulesOf' | 'hasOtherRules'>> {
  const { rules } = await store.organization(name);
  const hasOtherRules = JSON.stringify(entry.rules) !== JSON.stringify(rules);
  return { rules, rulesOf: replaced?.isSame === true ? 'target' : 'backup', hasOtherRules };
}

async function chooseOrganizations(
  backup: KeyedStore,
  target: KeyedStore,
  { organizations, replace }: Pick<RestoreOptions, 'organizations' | 'replace'>,
): Promise<readonly Chosen[]> {
  const all = await backup.store.organizations();
  const named = organizations ?? all.map(({ name }) => name);
  const chosen: Chosen[] = [];
  for (const name of named) {
    const one = organizations && (await presentAs(name, all, target.store));
    // A look-up of one entry refuses it if it is damaged.
    const entry = await backup.store.organization(one?.name ?? name).catch((error: unknown) => {
      throw isUnknown(error) ? notInBackup(name, all) : error;
    });
    const replaced = await target.store.replacedBy({ ...entry, name: one?.presentName ?? entry.name });
    // An organization without data replaces none that has some.
    if (entry.version === undefined && replaced?.publication !== undefined) continue;
    if (chosen.some((other) => other.entry.name === entry.name)) continue;
    chosen.push({ entry, replaced, name: replaced?.name ?? entry.name });
  }
  if (!replace) refuseData(await target.store.organizations(), organizations && chosen);
  return chosen;
}

function notInBackup(name: string, all: readonly OrganizationEntry[]): AppError {
  const names = all.map((one) => one.name).join(', ');
  return new AppError('organization-unknown', `The backup has no organization "${name}". It has: ${names}.`);
}

/** The organization of the backup that has this name in the target; absent if there is none. */
async function presentAs(
  name: string,
  all: readonly OrganizationEntry[],
  target: VersionStore,
): Promise<{ readonly name: string; readonly presentName: string } | undefined> {
  const present = await target.organization(name).catch((error: unknown) => {
    // One whose entry is damaged is found by its name.
    if (isUnknown(error) || (error instanceof AppError && error.code === 'data-unreadable')) return undefined;
    throw error;
  });
  const same = present && all.find(({ secret }) => Buffer.from(secret).equals(present.secret));
  return same && { name: same.name, presentName: present.name };
}

/** Throws `restore-refused` if there is data; with `chosen`, of these organizations. */
function refuseData(present: readonly OrganizationEntry[], chosen: readonly Chosen[] | undefined): void {
  const names = new Set(chosen?.map(({ name }) => name));
  const withData = present.filter(
    ({ name, version }) => version !== undefined && (!chosen || names.has(name)),
  );
  if (withData.length === 0) return;
  throw new AppError(
    'restore-refused',
    `There is data already, of ${withData.map(({ name }) => name).join(', ')}; nothing was restored. Restore to an empty folder or database, choose organizations with --organization, or replace those of the backup with --replace.`,
  );
}

/** Users who are erased in the target, and those of them who are not in the backup. */
async function erasuresOf(
  backup: KeyedStore,
  target: KeyedStore,
  chosen: Chosen,
): Promise<Pick<Plan, 'forgotten' | 'erased'>> {
  const forgotten = await forgottenHere(target.store, chosen).catch(() => undefined);
  const known = new Set(await forgottenIn(backup.store, chosen.entry.name));
  return { forgotten, erased: (forgotten ?? []).filter((id) => !known.has(id)) };
}

async function planOf(
  backup: KeyedStore,
  scratch: VersionStore,
  target: KeyedStore,
  chosen: Chosen,
): Promise<Plan> {
  const { name } = chosen.entry;
  const { forgotten, erased } = await erasuresOf(backup, target, chosen);
  const plan = { ...chosen, forgotten, erased };
  if (erased.length === 0) return { ...plan, original: await backup.store.original(name) };
  await backup.store.copyTo(scratch, name, { waitMs: 0, onBytes: () => undefined });
  await eraseUsers(scratch, name, erased, { waitMs: 0 });
  return { ...plan, original: await scratch.original(name) };
}

/**
 * Ids of the users whom the target knows as erased, in any organization with the same secret and in
 * the replaced one. Throws `data-unreadable`.
 */
async function forgottenHere(store: VersionStore, { entry, replaced }: Chosen): Promise<readonly bigint[]> {
  const same = (await store.organizations()).filter(({ secret }) => Buffer.from(secret).equals(entry.secret));
  const names = new Set([
    ...same.map(({ name }) => name),
    ...(replaced === undefined ? [] : [replaced.name]),
  ]);
  const ids = new Set<bigint>();
  for (const name of names) for (const id of await forgottenIn(store, name)) ids.add(id);
  return [...ids];
}

/** Ids of erased users. Throws `data-unreadable`. */
async function forgottenIn(store: Store, name: string): Promise<readonly bigint[]> {
  const dataset = await store.openDataset(name);
  try {
    return (await dataset?.forgotten(FULL_SCOPE, 0)) ?? [];
  } finally {
    await dataset?.close();
  }
}

/** No publication can follow until the restored data is current. */
async function refuseNews(store: VersionStore, plan: Plan): Promise<void> {
  if (plan.forgotten === undefined) return;
  if ((await forgottenHere(store, plan)).length === plan.forgotten.length) return;
  throw new AppError(
    'organization-busy',
    `A user of ${plan.name} was erased at the same time; nothing was restored. Run the command again.`,
  );
}
