/**
 * OneRoster 1.2, CSV binding: classes as boards, users, and enrollments as memberships. There are
 * no events. Files refer to each other, and `manifest.csv` says what each of them contains
 * (decision 98).
 */
import { AppError } from '../../domain/app-error.ts';
import { Refusal } from '../fields/refusal.ts';
import {
  type Derivation,
  detailOf,
  type Format,
  type FormatOptions,
  type FormatSource,
  given,
  lookUp,
  type NamedPerson,
  type Translation,
  type Translator,
  wordOf,
} from './format.ts';
import { cellOf, ROSTER_FILES, type RosterTable, statusOf, tableOf } from './oneroster-tables.ts';

/** Class role by role in an enrollment. A user with several has the first of this table. */
export const ENROLLMENT_ROLES: Readonly<Record<string, string>> = {
  teacher: 'instructor',
  administrator: 'administrator',
  proctor: 'proctor',
  student: 'student',
};

const VERSIONS: ReadonlySet<string> = new Set(['1.1', '1.2']);

export const oneroster: Format = {
  name: 'oneroster',
  forms: ['csv'],
  files: ROSTER_FILES,
  isWhole: true,
  open: (options, derivation) => new Roster(options, derivation),
};

class Roster implements Translator {
  readonly #derivation: Derivation;
  /** Values in the manifest, by name of property. */
  readonly #manifest = new Map<string, string>();
  readonly #schools = new Map<string, string>();
  readonly #courses = new Map<string, string>();
  /** Roles in organizations and in classes, by `sourcedId` of the user. */
  readonly #roles = new Map<string, string>();
  readonly #classRoles = new Map<string, string>();

  constructor({ mapping }: FormatOptions, derivation: Derivation) {
    if (mapping !== undefined) {
      throw new AppError('option-malformed', 'OneRoster has no events. Leave out --mapping.');
    }
    this.#derivation = derivation;
  }

  survey(row: FormatSource): void {
    const table = tableOf(row);
    if (table === 'manifest') this.#manifest.set(wordOf(row['propertyName']), wordOf(row['value']));
    if (table === 'orgs') note(this.#schools, row, 'name');
    if (table === 'courses') note(this.#courses, row, 'title');
    if (wordOf(row['status']) === 'tobedeleted') return;
    if (table === 'roles') this.#surveyRole(row);
    if (table === 'enrollments') this.#surveyEnrollment(row);
  }

  endSurvey(): void {
    const version = this.#manifest.get('oneroster.version');
    if (version === undefined) {
      throw new Refusal('manifest.csv', 'is missing, or has no oneroster.version: give the whole folder');
    }
    if (!VERSIONS.has(version))
      throw new Refusal('oneroster.version', `must be 1.2 or 1.1, but is ${version}`);
    // The manifest can be read after the files that it declares absent.
    const surveyed = { orgs: this.#schools, courses: this.#courses, roles: this.#roles };
    for (const [table, values] of Object.entries({ ...surveyed, enrollments: this.#classRoles })) {
      if (this.#manifest.get(`file.${table}`) === 'absent') values.clear();
    }
  }

  /** A primary role takes precedence, wherever it is. */
  #surveyRole(row: FormatSource): void {
    const [user, role] = [wordOf(row['userSourcedId']), wordOf(row['role'])];
    if (role === '' || (this.#roles.has(user) && row['roleType'] !== 'primary')) return;
    this.#roles.set(user, role);
  }

  #surveyEnrollment(row: FormatSource): void {
    const [user, role] = [wordOf(row['userSourcedId']), wordOf(row['role'])];
    if (wordOf(row['classSourcedId']) === '') return;
    const roles = Object.keys(ENROLLMENT_ROLES);
    const known = roles.indexOf(this.#classRoles.get(user) ?? '');
    const place = roles.indexOf(role);
    if (place >= 0 && (known < 0 || place < known)) this.#classRoles.set(user, role);
  }

  translate(row: FormatSource): readonly Translation[] {
    const table = tableOf(row);
    if (table === 'manifest') return [];
    const mode = this.#manifest.get(`file.${table}`);
    if (mode === 'absent') return [{ dropped: `is in a file that is absent by the manifest: ${table}` }];
    const sourcedId = cellOf(row, 'sourcedId');
    const isDeleted = statusOf(row, mode === 'delta') === 'tobedeleted';
    switch (table) {
      case 'users':
        return [this.#translateUser(row, sourcedId, isDeleted)];
      case 'classes':
        return [this.#translateClass(row, sourcedId, isDeleted)];
      case 'enrollments':
        return [this.#translateEnrollment(row, isDeleted)];
      default:
        return checkDescription(table, row);
    }
  }

  #translateUser(row: FormatSource, sourcedId: string, isDeleted: boolean): Translation {
    const person = this.#personOf(sourcedId);
    if (isDeleted) return { deletes: 'users', id: person.id };
    const firstName = wordOf(row['preferredGivenName']) || cellOf(row, 'givenName');
    const lastName = wordOf(row['preferredFamilyName']) || cellOf(row, 'familyName');
    // Version 1.1 has no roles.csv.
    const role = this.#roles.get(sourcedId) ?? wordOf(row['role']);
    const properties = {
      sourcedId,
      username: wordOf(row['username']),
      identifier: wordOf(row['identifier']),
    };
    return {
      describes: 'users',
      person: {
        ...{ id: person.id, firstName, lastName, name: given(`${firstName} ${lastName}`) },
        email: detailOf(row['email'], person.email.text),
        role: role || undefined,
        classRole: lookUp(ENROLLMENT_ROLES, this.#classRoles.get(sourcedId) ?? ''),
        lms: Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== '')),
      },
    };
  }

  #translateClass(row: FormatSource, sourcedId: string, isDeleted: boolean): Translation {
    const id = this.#boardIdOf(sourcedId);
    if (isDeleted) return { deletes: 'boards', id };
    const title = given(cellOf(row, 'title'));
    const course = this.#courses.get(wordOf(row['courseSourcedId']));
    const category = course || this.#schools.get(wordOf(row['schoolSourcedId'])) || undefined;
    return { describes: 'boards', board: { id, title, category, courseId: sourcedId } };
  }

  #translateEnrollment(row: FormatSource, isDeleted: boolean): Translation {
    const membership = {
      boardId: this.#boardIdOf(cellOf(row, 'classSourcedId')),
      userId: this.#personOf(cellOf(row, 'userSourcedId')).id,
    };
    if (isDeleted) return { deletes: 'memberships', ...membership };
    cellOf(row, 'role');
    return { describes: 'memberships', ...membership };
  }

  #boardIdOf(sourcedId: string): bigint {
    return this.#derivation.numberOf('board', `oneroster ${sourcedId}`);
  }

  #personOf(sourcedId: string): NamedPerson {
    return this.#derivation.personOf({ text: `oneroster ${sourcedId}`, word: sourcedId, kind: 'oneroster' });
  }
}

function note(names: Map<string, string>, row: FormatSource, column: string): void {
  const name = wordOf(row[column]);
  if (name !== '') names.set(wordOf(row['sourcedId']), name);
}

/** Rows that describe what other rows name, and are not records themselves. Throws `Refusal`. */
function checkDescription(table: RosterTable, row: FormatSource): readonly Translation[] {
  if (table === 'orgs') cellOf(row, 'name');
  if (table === 'courses') cellOf(row, 'title');
  if (table === 'roles') {
    cellOf(row, 'userSourcedId');
    cellOf(row, 'role');
  }
  return [];
}
