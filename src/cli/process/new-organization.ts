/** An organization that an import would create, and that may be a misspelt one. */
import { AppError } from '../../domain/app-error.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import type { Store } from '../../store/store.ts';
import { remark } from '../terminal/output.ts';
import { isConfirmed } from '../terminal/prompt.ts';

/** The flags and the description of the option. */
export const CREATE = [
  '--create',
  'the organization may be new, also if its name is similar to that of another',
] as const;

export interface NewOrganizationOptions {
  readonly organization: string;
  readonly dryRun?: boolean;
  /** Whether the organization may be new. */
  readonly create?: boolean;
}

/**
 * Names the organization whose name is similar, if there is one. On a terminal, throws
 * `organization-unknown` unless the new one is confirmed.
 */
export async function checkNewOrganization(
  store: Store,
  { organization, dryRun = false, create = false }: NewOrganizationOptions,
): Promise<void> {
  if (create) return;
  const names = (await store.organizations()).map(({ name }) => name);
  if (names.some((name) => name.toLowerCase() === organization.toLowerCase())) return;
  const near = nearestName(organization, names);
  if (near === undefined) return;
  remark(
    `corkboard: There is no organization ${organization}, but ${near}. This creates ${organization}; with --create, without this remark.`,
  );
  if (dryRun || !process.stdin.isTTY || (await isConfirmed(`create ${organization}`))) return;
  throw new AppError(
    'organization-unknown',
    `There is no organization ${organization}. Nothing was created.`,
  );
}
