/**
 * What learning management systems do with a file of grades: small models of the rules in their
 * documentation and source, which docs/other-software.md names.
 */
import assert from 'node:assert/strict';
import { parse } from 'csv-parse/sync';
import type { Gradebook } from '../../src/points/gradebook.ts';

export interface Account {
  /** The login, by which Canvas, Blackboard and Brightspace know users. */
  readonly email: string;
  /** The id of the institution. */
  readonly lmsId?: string | undefined;
  /** As the system sorts it: `Lovelace, Ada`. */
  readonly name: string;
}

export interface Course<A extends Account = Account> {
  readonly accounts: readonly A[];
  /** The maximum of the grade item. */
  readonly maximum: number;
}

export interface Imported<A extends Account = Account> {
  /** The title of the grade item. */
  readonly item: string;
  readonly grades: ReadonlyMap<A, number>;
  /** The maximum of the grade item, if the file sets it. */
  readonly most?: number;
}

type Import = <A extends Account>(text: string, course: Course<A>) => Imported<A>;
type Cells = readonly (readonly string[])[];

/** Every row must have a cell for each column. */
function cellsOf(text: string): Cells {
  return parse(text, { relax_column_count: false });
}

function numberOf(cell: string | undefined): number {
  assert.match(cell ?? '', /^\d+$/, 'a grade must be a number');
  return Number(cell);
}

/**
 * Moodle: the teacher maps the first column to the address or the ID number. One unknown user or
 * one value above the maximum ends the import, and no user gets a grade. In a row without a user,
 * and `0` counts as none, the user of the row before is kept. `-` deletes a grade.
 */
function importToMoodle<A extends Account>(text: string, { accounts, maximum }: Course<A>): Imported<A> {
  const [[key = '', item = ''] = [], ...rows] = cellsOf(text).map((row) => row.map((cell) => cell.trim()));
  const field = key === 'ID number' ? 'lmsId' : 'email';
  assert.equal(key, field === 'email' ? 'Email address' : key);
  const grades = new Map<A, number>();
  let account: A | undefined;
  for (const [user = '', value = ''] of rows) {
    if (user !== '' && user !== '0') account = accounts.find((one) => one[field]?.trim() === user);
    assert.ok(account, `could not find user with ${key} of ${user}`);
    if (value === '' || value === '-') {
      grades.delete(account);
      continue;
    }
    assert.ok(numberOf(value) <= maximum, `${value} is larger than the allowed grade maximum`);
    grades.set(account, Number(value));
  }
  return { item, grades };
}

/**
 * Canvas: five columns, then assignments; the row of the points possible sets the maximum. Students
 * are found by SIS id, then by login, then the first one by name. In cells of digits, dots and
 * commas, only the last separator stays, as a dot.
 */
function importToCanvas<A extends Account>(text: string, { accounts }: Course<A>): Imported<A> {
  const [header = [], ...rows] = cellsOf(text).map((row) => row.map(withoutSeparators));
  assert.deepEqual(header.slice(0, 5), ['Student', 'ID', 'SIS User ID', 'SIS Login ID', 'Section']);
  const grades = new Map<A, number>();
  let most: number | undefined;
  for (const [student = '', , lmsId = '', login = '', , value] of rows) {
    if (student.includes('Points Possible')) most = numberOf(value);
    else {
      const account =
        accounts.find((one) => lmsId !== '' && one.lmsId === lmsId) ??
        accounts.find((one) => login !== '' && one.email === login) ??
        accounts.find((one) => one.name === student);
      if (account !== undefined) grades.set(account, numberOf(value));
    }
  }
  assert.ok(most !== undefined, 'a new assignment needs its points possible');
  return { item: header[5]!, grades, most };
}

function withoutSeparators(cell: string): string {
  if (!/^-?[\d.,]+%?$/.test(cell)) return cell;
  const parts = cell.split(/[,.]/);
  const last = parts.pop()!;
  return parts.length === 0 ? last : `${parts.join('')}.${last}`;
}

/** Blackboard: every cell is quoted; users are found by Username, and others are left out. */
function importToBlackboard<A extends Account>(text: string, { accounts }: Course<A>): Imported<A> {
  for (const [cell] of text.matchAll(/"(?:[^"]|"")*"|[^,\r\n]+/g)) assert.match(cell, /^"/);
  const [header = [], ...rows] = cellsOf(text);
  assert.deepEqual(header.slice(0, 3), ['Last Name', 'First Name', 'Username']);
  const graded = rows.map(([, , user, value]) => [user, numberOf(value)] as const);
  return { item: header[3]!, grades: foundIn(accounts, graded) };
}

/**
 * Brightspace: the first column is the key, the last one is `#`, grades end in "Points Grade".
 * Unknown users are left out, and values above the maximum become the maximum.
 */
function importToBrightspace<A extends Account>(text: string, { accounts, maximum }: Course<A>): Imported<A> {
  const [[key, title, end] = [], ...rows] = cellsOf(text);
  assert.match(key ?? '', /^(Username|OrgDefinedId)$/);
  assert.equal(end, 'End-of-Line Indicator');
  const [, item = ''] = /^(.+) Points Grade$/.exec(title ?? '') ?? [];
  const graded = rows.map(([user, value, last]) => {
    assert.equal(last, '#');
    return [user, Math.min(maximum, numberOf(value))] as const;
  });
  return { item, grades: foundIn(accounts, graded) };
}

function foundIn<A extends Account>(
  accounts: readonly A[],
  graded: readonly (readonly [user: string | undefined, grade: number])[],
): ReadonlyMap<A, number> {
  const found = graded.flatMap(([user, grade]) => {
    const account = accounts.find(({ lmsId, email }) => (lmsId ?? email) === user);
    return account === undefined ? [] : [[account, grade] as const];
  });
  return new Map(found);
}

export type System = Exclude<Gradebook, 'generic'>;

export const SYSTEMS: Readonly<Record<System, Import>> = {
  moodle: importToMoodle,
  canvas: importToCanvas,
  blackboard: importToBlackboard,
  brightspace: importToBrightspace,
};
