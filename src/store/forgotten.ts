/** Forgetting people (decision 54): what stays of them is a number, and words that say so. */
import { AppError } from '../domain/app-error.ts';
import { FULL_SCOPE } from '../domain/scope.ts';
import { fieldOf, STAGED, type Staged, type UserRecord } from './staging.ts';
import type { Outcome, PublicationOptions, Store } from './store.ts';

const DOMAIN = '@forgotten.invalid';

/** Whether an address stands for somebody else who was forgotten. */
export function isOfForgotten(email: string, id: bigint): boolean {
  return email.toLowerCase().endsWith(DOMAIN) && email !== forgottenAddress(id);
}

function forgottenAddress(id: bigint): string {
  return `user-${id}${DOMAIN}`;
}

/** Every text that a record can say of a user, empty. */
const NOTHING_SAID: Pick<UserRecord, 'lastName' | 'classRole'> = Object.fromEntries(
  Object.entries(STAGED.users).flatMap(([name, type]) => (type === 'text?' ? [[fieldOf(name), '']] : [])),
);

/** The record that makes somebody forgotten. The address can never be any, and an import refuses it of anybody else. */
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
   * Removes what lies elsewhere, once it is known that there are such people, and before the store
   * forgets them.
   */
  readonly beforeErasing?: () => Promise<void>;
}

/**
 * Publishes a version, and leaves no earlier one, in which nothing is known of these people. Nothing is published when all
 * of them were forgotten before. Throws `not-found` when one was never known, and what a publication throws.
 */
export async function forgetUsers(
  store: Store,
  organization: string,
  ids: readonly bigint[],
  { beforeErasing, ...options }: ForgettingOptions,
): Promise<Outcome> {
  const { name } = await store.organization(organization);
  const publication = await store.beginPublication(name, options);
  try {
    await checkKnown(store, name, ids);
    await beforeErasing?.();
    await publication.stage(
      'users',
      ids.map((id, at) => forgottenUser(id, { file: 0, line: at + 1 })),
    );
    await publication.check(({ reason }) => {
      throw new AppError('import-refused', `${reason}.`);
    });
    return await publication.publish();
  } finally {
    await publication.discard();
  }
}

async function checkKnown(store: Store, name: string, ids: readonly bigint[]): Promise<void> {
  const dataset = await store.openDataset(name);
  try {
    for (const id of ids) {
      const user = await dataset?.findUser(FULL_SCOPE, { by: 'id', value: id });
      if (user === undefined) throw new AppError('not-found', `${name} has no user ${id}.`);
    }
  } finally {
    await dataset?.close();
  }
}
