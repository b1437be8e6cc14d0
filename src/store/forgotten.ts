/** Erasure of users (decision 54): only an id and placeholder texts remain. */
import { AppError } from '../domain/app-error.ts';
import { FULL_SCOPE } from '../domain/scope.ts';
import { fieldOf, STAGED, type Staged, type UserRecord } from './staging.ts';
import type { Outcome, Publication, PublicationOptions, Store } from './store.ts';

const DOMAIN = '@forgotten.invalid';

/** Whether an address is the placeholder of an erased user other than `id`. */
export function isOfForgotten(email: string, id: bigint): boolean {
  return email.toLowerCase().endsWith(DOMAIN) && email !== forgottenAddress(id);
}

function forgottenAddress(id: bigint): string {
  return `user-${id}${DOMAIN}`;
}

/** Every optional text field of a user, empty. */
const NOTHING_SAID: Pick<UserRecord, 'lastName' | 'classRole'> = Object.fromEntries(
  Object.entries(STAGED.users).flatMap(([name, type]) => (type === 'text?' ? [[fieldOf(name), '']] : [])),
);

/**
 * The record that erases a user. Its address can never exist, and an import refuses it for any
 * other user.
 */
export function forgottenUser(id: bigint, at: Staged): UserRecord {
  return {
    ...at,
    ...NOTHING_SAID,
    id,
    email: forgottenAddress(id),
    name: 'Forgotten',
    firstName: 'Forgotten',
    role: 'user',
    forgotten: true,
  };
}

export interface ForgettingOptions extends PublicationOptions {
  /**
   * Removes data outside the store. Called once all users are known to exist, before the store
   * erases them.
   */
  readonly beforeErasing?: () => Promise<void>;
}

/**
 * Publishes a version without the data of these users, and deletes all earlier versions. Publishes
 * nothing if all of them were erased before. Throws `not-found` if a user was never known,
 * `erasure-refused`, and the errors of a publication.
 */
export async function forgetUsers(
  store: Store,
  organization: string,
  ids: readonly bigint[],
  { beforeErasing, ...options }: ForgettingOptions,
): Promise<Outcome> {
  const { name } = await store.organization(organization);
  return await eraseUsers(store, name, ids, {
    ...options,
    beforeErasing: async () => {
      await checkKnown(store, name, ids);
      await beforeErasing?.();
    },
  });
}

/** A user who is known, and what `forgetUsers` would erase with them. */
export interface KnownUser {
  readonly id: bigint;
  readonly name: string;
  readonly email: string;
}

/**
 * Who `forgetUsers` would erase, in the order of `ids`, and the number of their events. Throws
 * `not-found` and the errors of a publication. Publishes nothing.
 */
export async function previewForgetting(
  store: Store,
  organization: string,
  ids: readonly bigint[],
  options: PublicationOptions,
): Promise<{ readonly users: readonly KnownUser[]; readonly erased: number }> {
  const { name } = await store.organization(organization);
  const users = await readUsers(store, name, ids);
  const publication = await store.beginPublication(name, options);
  try {
    await stageErasures(publication, ids);
    return { users, erased: (await publication.preview()).erased };
  } finally {
    await publication.discard();
  }
}

/** Like `forgetUsers`, also for users that the organization does not know (yet). */
export async function eraseUsers(
  store: Store,
  name: string,
  ids: readonly bigint[],
  { beforeErasing, ...options }: ForgettingOptions,
): Promise<Outcome> {
  const publication = await store.beginPublication(name, { ...options, erases: true });
  try {
    await beforeErasing?.();
    await stageErasures(publication, ids);
    return await publication.publish();
  } finally {
    await publication.discard();
  }
}

async function stageErasures(publication: Publication, ids: readonly bigint[]): Promise<void> {
  await publication.stage(
    'users',
    ids.map((id, at) => forgottenUser(id, { file: 0, line: at + 1 })),
  );
  await publication.check(({ reason }) => {
    throw new AppError('import-refused', `${reason}.`);
  });
}

function refuseUnknown(organization: string, id: bigint): never {
  throw new AppError('not-found', `${organization} has no user ${id}.`);
}

async function checkKnown(store: Store, name: string, ids: readonly bigint[]): Promise<void> {
  const dataset = await store.openDataset(name);
  try {
    for (const id of ids) {
      const user = await dataset?.findUser(FULL_SCOPE, { by: 'id', value: id });
      if (user === undefined) refuseUnknown(name, id);
    }
  } finally {
    await dataset?.close();
  }
}

/** In the order of `ids`. Throws `not-found`. */
async function readUsers(store: Store, name: string, ids: readonly bigint[]): Promise<readonly KnownUser[]> {
  const dataset = await store.openDataset(name);
  const wanted = new Set(ids);
  const users = new Map<bigint, KnownUser>();
  try {
    for await (const batch of dataset?.records('users') ?? []) {
      for (const [at, id] of batch.id.entries()) {
        if (wanted.has(id)) users.set(id, { id, name: batch.name.at(at), email: batch.email.at(at) });
      }
    }
    return ids.map((id) => users.get(id) ?? refuseUnknown(name, id));
  } finally {
    await dataset?.close();
  }
}
