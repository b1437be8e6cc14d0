/**
 * Points of a board as files that gradebooks import (decision 92), as these systems read them
 * (docs/other-software.md). Every cell is in quotes, which all of them accept and Blackboard
 * requires. Teachers open the files in spreadsheets, so no cell about a user is a formula.
 */
import { defuse } from '../domain/formula.ts';
import type { BoardPolicy } from './policy.ts';

export const GRADEBOOKS = ['canvas', 'moodle', 'blackboard', 'brightspace', 'generic'] as const;
export type Gradebook = (typeof GRADEBOOKS)[number];

export const GRADED_VALUES = ['score', 'points'] as const;
export type GradedValue = (typeof GRADED_VALUES)[number];

/** The title of the column in the gradebook, unless a different one is given. */
export const COLUMN_TITLE = 'Participation';

export interface GradedUser {
  readonly id: bigint;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** The id by which the system knows the user; absent if users are known by e-mail address. */
  readonly lmsId?: string | undefined;
  readonly totalPoints: number;
  readonly participationScore: number;
}

export interface GradebookColumn {
  /** The title of the column in the gradebook. */
  readonly title: string;
  readonly value: GradedValue;
  /** The value that counts as everything. */
  readonly most: number;
  /** Whether users are known by `lmsId`. */
  readonly byLmsId: boolean;
}

/** Names that can never exist (RFC 2606): imports derive such addresses if a source has none. */
const INVALID = /[@.]invalid$/i;

/** Letters, digits and signs, of which no formula can be made that does anything. */
const HARMLESS = /^[\p{L}\p{N}._+@-]*$/u;

interface GradebookForm {
  header(column: GradebookColumn): readonly string[];
  /** Whether the system refuses or lowers values above the maximum of the grade item. */
  readonly limitsValues?: boolean;
  /** Whether the system imports no grades if it does not know one of the users. */
  readonly refusesUnknown?: boolean;
  /** Rows before those of users. */
  readonly before?: (column: GradebookColumn) => readonly (readonly string[])[];
  row(user: GradedUser, value: string): readonly string[];
}

const FORMS: Readonly<Record<Gradebook, GradebookForm>> = {
  canvas: {
    header: ({ title }) => ['Student', 'ID', 'SIS User ID', 'SIS Login ID', 'Section', title],
    before: ({ most }) => [['    Points Possible', '', '', '', '', String(most)]],
    row: (user, value) => [defuse(lastNameFirst(user)), '', user.lmsId ?? '', user.email, '', value],
  },
  moodle: {
    ...{ limitsValues: true, refusesUnknown: true },
    header: ({ title, byLmsId }) => [byLmsId ? 'ID number' : 'Email address', title],
    row: (user, value) => [user.lmsId ?? user.email, value],
  },
  blackboard: {
    header: ({ title }) => ['Last Name', 'First Name', 'Username', title],
    row: (user, value) => [
      ...[defuse(user.lastName), defuse(user.firstName)],
      ...[user.lmsId ?? user.email, value],
    ],
  },
  brightspace: {
    limitsValues: true,
    header: ({ title, byLmsId }) => [
      byLmsId ? 'OrgDefinedId' : 'Username',
      `${title} Points Grade`,
      'End-of-Line Indicator',
    ],
    row: (user, value) => [user.lmsId ?? user.email, value, '#'],
  },
  generic: {
    header: ({ byLmsId }) => [
      ...['user_id', 'email', 'first_name', 'last_name'],
      ...(byLmsId ? ['lms_id'] : []),
      ...['total_points', 'participation_score'],
    ],
    row: ({ id, email, firstName, lastName, lmsId, totalPoints, participationScore }) => [
      ...[String(id), email, defuse(firstName), defuse(lastName)],
      ...(lmsId === undefined ? [] : [lmsId]),
      ...[String(totalPoints), String(participationScore)],
    ],
  },
};

/** The file as CSV (RFC 4180), line by line. */
export function* gradebookLines(
  gradebook: Gradebook,
  column: GradebookColumn,
  users: Iterable<GradedUser>,
): Generator<string, void> {
  const { header, before, row } = FORMS[gradebook];
  yield lineOf(header(column));
  for (const cells of before?.(column) ?? []) yield lineOf(cells);
  for (const user of users) {
    yield lineOf(row(withSafeKeys(user), String(gradeOf(user, column.value))));
  }
}

function gradeOf(user: GradedUser, value: GradedValue): number {
  return value === 'score' ? user.participationScore : user.totalPoints;
}

/**
 * Whether the file can contain the user. Moodle imports no grades if one address or id is unknown;
 * in a row with the id 0, as in one without an id, it keeps the user of the row before.
 */
export function canBeImported(gradebook: Gradebook, { email, lmsId }: GradedUser): boolean {
  if (FORMS[gradebook].refusesUnknown !== true) return true;
  const key = lmsId ?? email;
  const isPossible = lmsId !== undefined || !INVALID.test(email);
  return isPossible && !['', '0'].includes(key.trim()) && safeKey(key) === key;
}

/**
 * The largest value of the users, which the maximum of the grade item must not be below; undefined
 * without users, and for systems that take any value.
 */
export function leastMaximum(
  gradebook: Gradebook,
  value: GradedValue,
  users: readonly GradedUser[],
): number | undefined {
  if (FORMS[gradebook].limitsValues !== true || users.length === 0) return undefined;
  return users.reduce((largest, user) => Math.max(largest, gradeOf(user, value)), 0);
}

/** The value that counts as everything, by the policy of the board. */
export function mostOf({ goal, participationScore }: BoardPolicy, value: GradedValue): number {
  return value === 'score' && participationScore === 'percent' ? 100 : goal;
}

function lineOf(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

/**
 * Systems find users by addresses and ids, which therefore stay exact, even if they begin like a
 * formula, as phone numbers do. Only those are changed that a spreadsheet could run with an effect.
 */
function withSafeKeys(user: GradedUser): GradedUser {
  const { email, lmsId } = user;
  return { ...user, email: safeKey(email), lmsId: lmsId === undefined ? undefined : safeKey(lmsId) };
}

function safeKey(text: string): string {
  return HARMLESS.test(text) ? text : defuse(text);
}

function lastNameFirst({ firstName, lastName }: GradedUser): string {
  return [lastName, firstName].filter((name) => name !== '').join(', ');
}

function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`;
}
