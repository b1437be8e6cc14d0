/**
 * Valid organization names, the errors about names, and the default settings of a new organization:
 * the same in every store.
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

/** The rule for titles, domains and every other single-line text that an operator gives. */
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

export function isUnknown(error: unknown): boolean {
  return error instanceof AppError && error.code === 'organization-unknown';
}

export function existingOrganization(name: string): AppError {
  return new AppError(
    'organization-exists',
    `An organization "${name}" already exists. Choose a different name.`,
  );
}

/** Says that a renaming was interrupted, and what to do. */
export function unfinishedRenaming(name: string, newName: string): string {
  const words = [name, newName].map((word) => JSON.stringify(word)).join(' ');
  return `the renaming of "${name}" to "${newName}" was interrupted. Finish it with: corkboard organizations rename ${words}`;
}

/** Ids from here on are ignored when the next free id is chosen, so that there always is one. */
export const LARGE_ID = 2n ** 62n;

/** `largestId`: the largest id below `LARGE_ID` of the organizations in the store, or 0. */
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
 * A copy may replace an organization of the same name that has no data, or with `evenWithData` any
 * of that name. Throws `organization-exists`, also if the names differ in case: keys would treat
 * them as different organizations.
 */
export function checkReplaceable(
  existing: { readonly name: string; readonly publication: number | undefined } | undefined,
  name: string,
  evenWithData = false,
): void {
  if (existing === undefined) return;
  if (existing.name === name && (evenWithData || existing.publication === undefined)) return;
  throw new AppError(
    'organization-exists',
    `The target already has an organization "${existing.name}"; nothing of "${name}" was copied. Copy to a different store, or choose other organizations with --organization.`,
  );
}
