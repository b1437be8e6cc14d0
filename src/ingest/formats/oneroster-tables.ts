/**
 * The CSV files of OneRoster 1.2 that an import reads, recognized by their columns (decision 69),
 * and what all of their rows have.
 */
import { quoted } from '../../domain/shortened-text.ts';
import { email, text } from '../fields/fields.ts';
import { Refusal } from '../fields/refusal.ts';
import { type FormatSource, wordOf } from './format.ts';

/** By the standard. Limits the memory for the texts by which rows refer to each other. */
const LONGEST_SOURCED_ID = 255;

/**
 * Columns that tell the files from each other and from those that are not read, such as
 * demographics. The first match counts.
 */
const TABLES = {
  manifest: ['propertyName', 'value'],
  enrollments: ['sourcedId', 'classSourcedId', 'userSourcedId', 'role'],
  roles: ['sourcedId', 'userSourcedId', 'roleType', 'role'],
  users: ['sourcedId', 'username', 'givenName', 'familyName'],
  classes: ['sourcedId', 'courseSourcedId', 'schoolSourcedId', 'title'],
  courses: ['sourcedId', 'orgSourcedId', 'title'],
  orgs: ['sourcedId', 'name', 'type'],
} as const;

export type RosterTable = keyof typeof TABLES;

/** The names of the files. */
export const ROSTER_FILES = new RegExp(`^(?:${Object.keys(TABLES).join('|')})\\.csv`, 'i');

/** Throws `Refusal` when the row is of no file that is read. */
export function tableOf(row: FormatSource): RosterTable {
  const found = Object.entries(TABLES).find(([, columns]) => columns.every((column) => column in row));
  if (found !== undefined) return found[0] as RosterTable;
  const files = Object.entries(TABLES).map(([table, columns]) => `${table} (${columns.join(', ')})`);
  throw new Refusal('', `does not have the columns of any of these files: ${files.join('; ')}`);
}

export type RosterStatus = 'active' | 'tobedeleted';

/** An empty status is that of a file with all rows. Throws `Refusal`. */
export function statusOf(row: FormatSource, isDelta: boolean): RosterStatus {
  const status = wordOf(row['status']);
  if (isDelta && status === '') throw new Refusal('status', 'is required in a file with changes (delta)');
  if (status === '' || status === 'active') return 'active';
  if (status === 'tobedeleted') return status;
  throw new Refusal('status', `must be active or tobedeleted, but is ${quoted(status)}`);
}

/** The cell of a column that may be empty or missing. Throws `Refusal`. */
export function cellIfAny(row: FormatSource, column: string): string {
  return text.read(wordOf(row[column]), column, true) ?? '';
}

/** The e-mail address of a user, or an empty text. Throws `Refusal`. */
export function addressOf(row: FormatSource): string {
  return email.read(wordOf(row['email']), 'email', true) ?? '';
}

/** The cell of a column that must not be empty. Throws `Refusal`. */
export function cellOf(row: FormatSource, column: string): string {
  const cell = cellIfAny(row, column);
  if (cell === '') throw new Refusal(column, 'is required');
  return cell;
}

/** The `sourcedId` in a column, which must not be empty. Throws `Refusal`. */
export function sourcedIdOf(row: FormatSource, column: string): string {
  const id = cellOf(row, column);
  if (id.length <= LONGEST_SOURCED_ID) return id;
  throw new Refusal(column, `must have at most ${LONGEST_SOURCED_ID} characters, but has ${id.length}`);
}
