/**
 * Valid organization names, the errors about names, and the default settings of a new organization:
 * the same in every store.
 */
import { AppError } from '../domain/app-error.ts';
import type { OrganizationEntry, Settings } from './store.ts';

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

/**
 * Says that a renaming of `name` was interrupted, and what to do. `other`: the name that it had
 * before, or was to get.
 */
export function unfinishedRenaming(other: string, name: string): string {
  return `a renaming of "${name}" was interrupted, and it still has the name "${other}" as well. To keep "${name}", run: corkboard organizations rename ${word(other)} ${word(name)}; to name it "${other}": corkboard organizations rename ${word(name)} ${word(other)}`;
}

/** What to do about a removal that has not finished. */
export function unfinishedRemoval(name: string): string {
  return `"${name}" is being removed. If the removal was interrupted, finish it: corkboard organizations remove ${word(name)}`;
}

/** Throws `organization-busy` if the removal of the organization has begun. */
export function refuseRemoved({
  name,
  isBeingRemoved,
}: Pick<OrganizationEntry, 'name' | 'isBeingRemoved'>): void {
  if (isBeingRemoved) throw new AppError('organization-busy', unfinishedRemoval(name));
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

/** A copy replaces an organization with data only if asked to. Throws `organization-exists`. */
export function checkReplaceable(
  replaced: { readonly name: string; readonly publication: number | undefined } | undefined,
  mayReplace = false,
): void {
  if (replaced?.publication === undefined || mayReplace) return;
  throw new AppError(
    'organization-exists',
    `The target already has an organization "${replaced.name}"; nothing of it was copied. Copy to a different store, or choose other organizations with --organization.`,
  );
}

/**
 * The organization of a copy has a different name in the target. `isFree`: whether no other one has
 * its name there.
 */
export function differentlyNamed(name: string, nameThere: string, isFree: boolean): AppError {
  const rename = `corkboard organizations rename ${word(nameThere)} ${word(name)}`;
  const former = isFree ? `, or give it its former name before: ${rename}` : '';
  return new AppError(
    'organization-exists',
    `"${name}" is named "${nameThere}" in the target; nothing was changed. Restore it under that name (corkboard restore BACKUP --replace --organization ${word(nameThere)})${former}.`,
  );
}

/** The organization of a copy has a damaged entry with a different name in the target. */
export function damagedName(name: string, nameThere: string): AppError {
  return new AppError(
    'organization-exists',
    `"${name}" has a damaged entry with the name "${nameThere}" in the target; nothing was changed. Remove the entry before: corkboard organizations remove ${word(nameThere)}`,
  );
}

/** The name of a copy belongs to a different organization with data in the target. */
export function differentOrganization(name: string): AppError {
  return new AppError(
    'organization-exists',
    `"${name}" is a different organization in the target, with a secret of its own; nothing was changed, because its keys would open the data of the other one. Rename or remove it before: corkboard organizations rename ${word(name)} NEW-NAME, or corkboard organizations remove ${word(name)}`,
  );
}

/** For a command line. */
function word(name: string): string {
  return JSON.stringify(name);
}
