/** Finds or creates the organization of an import, and the store that contains it. */
import { AppError } from '../domain/app-error.ts';
import type { OrganizationEntry, Settings, Store } from '../store/store.ts';
import { findIdentity } from './identity.ts';
import type { OpenInput } from './input/open-input.ts';
import type { ReadParquet } from './input/parquet-input.ts';
import { checkSameOrganization } from './settings-files.ts';

/** The destination of the records. Disposing of it closes a store that was opened for it. */
export interface OpenedTarget extends AsyncDisposable {
  readonly store: Store;
  readonly entry: OrganizationEntry;
}

export interface TargetOptions {
  readonly store: Store;
  readonly organization: string;
  /** Settings for a new organization or one without data; checked against the id of any other. */
  readonly settings?: Partial<Settings> | undefined;
  readonly dryRun?: boolean | undefined;
  readonly openScratchStore?: (() => Promise<Store>) | undefined;
}

/**
 * The organization. If it does not exist, it is created with the identity in the events, and
 * remains without data if the import is refused. A dry run creates it in a temporary store.
 */
export async function openTarget(
  { store, organization, settings = {}, dryRun, openScratchStore }: TargetOptions,
  inputs: readonly OpenInput[],
  readParquet: ReadParquet,
): Promise<OpenedTarget> {
  const known = await findOrganization(store, organization);
  if (known !== undefined) {
    checkSameOrganization(settings, known);
    return { store, entry: known, [Symbol.asyncDispose]: async () => {} };
  }
  const make = async (into: Store) => {
    const identity = await findIdentity(inputs, readParquet);
    return await makeOrganization(into, organization, { ...identity, ...settings });
  };
  if (dryRun !== true) {
    const entry = await make(store);
    return { store, entry, [Symbol.asyncDispose]: async () => {} };
  }
  if (openScratchStore === undefined) {
    throw new AppError('organization-unknown', `There is no organization ${organization} for the dry run.`);
  }
  const scratch = await openScratchStore();
  try {
    const entry = await make(scratch);
    return { store: scratch, entry, [Symbol.asyncDispose]: () => scratch.close() };
  } catch (error) {
    await scratch.close();
    throw error;
  }
}

async function findOrganization(store: Store, name: string): Promise<OrganizationEntry | undefined> {
  try {
    return await store.organization(name);
  } catch (error) {
    if (error instanceof AppError && error.code === 'organization-unknown') return undefined;
    throw error;
  }
}

async function makeOrganization(
  store: Store,
  name: string,
  identity: Partial<Settings>,
): Promise<OrganizationEntry> {
  try {
    return await store.createOrganization(name, identity);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'organization-exists') throw error;
    // Another import may have created it in the meantime.
    const entry = await findOrganization(store, name);
    if (entry !== undefined) return entry;
    const message = `The events belong to the organization with id ${identity.id}, but a different organization here has this id.`;
    throw new AppError('organization-exists', message, { cause: error });
  }
}
