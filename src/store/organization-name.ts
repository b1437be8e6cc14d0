/**
 * What can name an organization, how trouble with a name is told, and what a new organization has unless it is said
 * otherwise: the same in every store.
 */
import { AppError } from '../domain/app-error.ts';
import type { Settings } from './store.ts';

/** A folder name on every file system, and readable on a command line. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}[A-Za-z0-9_-]$|^[A-Za-z0-9]$/;

/** Throws `organization-malformed`. */
export function checkOrganizationName(name: string): void {
  if (NAME.test(name)) return;
  throw new AppError(
    'organization-malformed',
    `"${name}" is not a valid organization name. Use 1 to 64 letters, digits, spaces, ".", "_" and "-", beginning with a letter or a digit.`,
  );
}

const LONGEST_LINE = 200;

/** What a title or a domain, and every other text of one line that an operator gives, must be. */
export const LINE_RULE = `one line of at most ${LONGEST_LINE} characters`;

export function isLine(text: string): boolean {
  return text.length <= LONGEST_LINE && !/\p{Cc}/u.test(text);
}

export function unknownOrganization(name: string): AppError {
  return new AppError(
    'organization-unknown',
    `There is no organization "${name}". List them with "corkboard organizations list", or create it with "corkboard organizations create".`,
  );
}

export function existingOrganization(name: string): AppError {
  return new AppError(
    'organization-exists',
    `An organization "${name}" already exists. Choose a different name.`,
  );
}

/** Ids from here on are no base for the next free one, so that there always is one. */
export const LARGE_ID = 2n ** 62n;

/** `largestId`: the largest id below `LARGE_ID` that an organization of the store has, 0 when there is none. */
export function defaultSettings(name: string, largestId: bigint): Settings {
  return {
    id: largestId + 1n,
    title: name,
    domain: '',
    categoryId: 0n,
    courseLookup: false,
    lmsUserProperties: [],
    userPointsKey: 'user-id',
    policy: '',
  };
}

/**
 * An organization can be replaced by a copy of that name as long as it has no data. Throws `organization-exists`.
 * Differently written the name would be another one for keys.
 */
export function checkReplaceable(
  existing: { readonly name: string; readonly version: string | undefined } | undefined,
  name: string,
): void {
  if (existing === undefined || (existing.name === name && existing.version === undefined)) return;
  throw new AppError(
    'organization-exists',
    `The target already has an organization "${existing.name}"; nothing of "${name}" was copied. Copy to a different store, or choose other organizations with --organization.`,
  );
}
