/**
 * OneRoster 1.2, CSV binding: classes as boards, users, and enrollments as memberships. There are
 * no events. Files refer to each other, and `manifest.csv` says what each of them contains
 * (decision 98). Addresses, which several users may share there, are in `shared-addresses.ts`.
 */
import { AppError } from '../../domain/app-error.ts';
import { quoted } from '../../domain/shortened-text.ts';
import { Refusal } from '../fields/refusal.ts';
import {
  type Derivation,
  type Detail,
  derived,
  type Format,
  type FormatOptions,
  type FormatSource,
  given,
  lookUp,
  type NamedPerson,
  type PublishedUser,
  type Translation,
  type Translator,
  wordOf,
} from './format.ts';
import {
  addressOf,
  cellIfAny,
  cellOf,
  ROSTER_FILES,
  type RosterTable,
  sourcedIdOf,
  statusOf,
  tableOf,
} from './oneroster-tables.ts';
import { SharedAddresses } from './shared-addresses.ts';

/** Class role by role in an enrollment. A user with several has the first of this table. */
export const ENROLLMENT_ROLES: Readonly<Record<string, string>> = {
  teacher: 'instructor',
  administrator: 'administrator',
  proctor: 'proctor',
  student: 'student',
};

const ROLES: readonly string[] = Object.keys(ENROLLMENT_ROLES);

/** Properties of the manifest that are read. */
const PROPERTY = /^(?:oneroster\.version|file\.\w{1,50})$/;
const VERSIONS: ReadonlySet<string> = new Set(['1.1', '1.2']);
/** The file with the records of a kind. */
const FILES: ReadonlyMap<string, RosterTable> = new Map([
  ['users', 'users'],
  ['boards', 'classes'],
  ['memberships', 'enrollments'],
]);
const SHARED = 'has the e-mail address of a different user, who keeps it';
/** What rows refer to is kept in memory, and a `Set` holds at most 16 million entries. */
const MOST_ROWS = 10_000_000;

export const oneroster: Format = {
  name: 'oneroster',
  forms: ['csv'],
  isUtf8: true,
  files: ROSTER_FILES,
  isWhole: true,
  replaceable: [...FILES.keys()],
  userProperty: 'sourcedId',
  columnOf: {
    ...{ board_id: 'classSourcedId', user_id: 'userSourcedId', course_id: 'sourcedId', deleted: 'status' },
    ...{ 'lms.sourcedId': 'sourcedId', 'lms.username': 'username', 'lms.identifier': 'identifier' },
  },
  open: (options, derivation) => new Roster(options, derivation),
};

class Roster implements Translator {
  readonly #derivation: Derivation;
  readonly #replaced: readonly string[];
  /** The version and the modes of files in the manifest, by name of property. */
  readonly #manifest = new Map<string, string>();
  readonly #schools = new Map<string, string>();
  readonly #courses = new Map<string, string>();
  /** By `sourcedId`, the place of the row that deletes the user; undefined if none does. */
  readonly #users = new Map<string, string | undefined>();
  /** Likewise, of the classes. */
  readonly #classes = new Map<string, string | undefined>();
  readonly #addresses: SharedAddresses;
  /** Roles in organizations, by `sourcedId` of the user. */
  readonly #roles = new Map<string, string>();
  /** Likewise, the roles in enrollments. */
  readonly #enrollmentRoles = new Map<string, string>();
  /** Class and user of each enrollment that is not to be deleted. */
  readonly #enrolled = new Set<string>();
  #rows = 0;
  #names: ReadonlyMap<string, string> | undefined;

  constructor({ mapping, replaced = [] }: FormatOptions, derivation: Derivation) {
    if (mapping !== undefined) {
      throw new AppError('option-malformed', 'OneRoster has no events. Leave out --mapping.');
    }
    this.#replaced = replaced;
    this.#derivation = derivation;
    this.#addresses = new SharedAddresses(replaced.includes('users'));
  }

  survey(row: FormatSource, place: string): void {
    this.#rows += 1;
    if (this.#rows > MOST_ROWS) {
      throw new AppError('option-malformed', 'A roster of more than 10 million rows cannot be imported.');
    }
    const table = tableOf(row);
    if (table === 'manifest') this.#surveyManifest(row);
    if (table === 'orgs') note(this.#schools, row, 'name');
    if (table === 'courses') note(this.#courses, row, 'title');
    // The mode of the file may be unknown yet.
    const isDeleted = statusOf(row, false) === 'tobedeleted';
    if (table === 'classes')
      this.#classes.set(copied(sourcedIdOf(row, 'sourcedId')), isDeleted ? place : undefined);
    if (table === 'users') this.#surveyUser(row, isDeleted ? place : undefined);
    if (isDeleted) return;
    if (table === 'roles') this.#surveyRole(row);
    if (table === 'enrollments') this.#surveyEnrollment(row);
  }

  learn({ id, email, identifier }: PublishedUser): void {
    if (this.#personOf(identifier).id === id) this.#addresses.publish(identifier, email);
  }

  endSurvey(): void {
    const version = this.#manifest.get('oneroster.version');
    if (version === undefined) {
      throw new Refusal('manifest.csv', 'is missing, or has no oneroster.version: give the whole folder');
    }
    if (!VERSIONS.has(version))
      throw new Refusal('oneroster.version', `must be 1.2 or 1.1, but is ${quoted(version)}`);
    for (const kind of this.#replaced) this.#checkReplaced(kind);
    // The manifest can be read after the files that it declares absent.
    const surveyed: readonly (readonly [RosterTable, { clear(): void }])[] = [
      ['orgs', this.#schools],
      ['courses', this.#courses],
      ['users', this.#users],
      ['users', this.#addresses],
      ['classes', this.#classes],
      ['roles', this.#roles],
      ['enrollments', this.#enrollmentRoles],
      ['enrollments', this.#enrolled],
    ];
    for (const [table, values] of surveyed) {
      if (this.#modeOf(table) === 'absent') values.clear();
    }
    this.#addresses.settle();
  }

  /** Throws `option-malformed` for a second manifest, which would decide about both rosters. */
  #surveyManifest(row: FormatSource): void {
    const property = wordOf(row['propertyName']);
    if (!PROPERTY.test(property)) return;
    if (this.#manifest.has(property)) {
      throw new AppError(
        'option-malformed',
        `The manifest has ${quoted(property)} twice. Import one roster at a time, with its own manifest.`,
      );
    }
    this.#manifest.set(copied(property), copied(cellOf(row, 'value')));
  }

  /** Throws `option-malformed` unless the file with the records of the kind has all of them. */
  #checkReplaced(kind: string): void {
    const table = FILES.get(kind);
    const mode = table && this.#modeOf(table);
    if (mode === 'bulk') return;
    throw new AppError(
      'option-malformed',
      `--replace ${kind} requires all ${kind}, but file.${table} in the manifest is ${quoted(mode ?? '')}, ` +
        'not "bulk". Leave out --replace, or deliver the whole file.',
    );
  }

  #modeOf(table: RosterTable): string | undefined {
    return this.#manifest.get(`file.${table}`);
  }

  #surveyUser(row: FormatSource, deletedBy: string | undefined): void {
    const sourcedId = copied(sourcedIdOf(row, 'sourcedId'));
    this.#users.set(sourcedId, deletedBy);
    if (deletedBy !== undefined) this.#addresses.delete(sourcedId);
    else {
      namesOf(row);
      this.#addresses.claim(sourcedId, copied(addressOf(row)));
    }
  }

  /** A primary role takes precedence, wherever it is. */
  #surveyRole(row: FormatSource): void {
    const [user, role] = [sourcedIdOf(row, 'userSourcedId'), cellOf(row, 'role')];
    if (this.#roles.has(user) && row['roleType'] !== 'primary') return;
    this.#roles.set(copied(user), copied(role));
  }

  #surveyEnrollment(row: FormatSource): void {
    const [user, role] = [sourcedIdOf(row, 'userSourcedId'), cellOf(row, 'role')];
    this.#enrolled.add(placeOf(row));
    const known = ROLES.indexOf(this.#enrollmentRoles.get(user) ?? '');
    const rank = ROLES.indexOf(role);
    if (rank >= 0 && (known < 0 || rank < known)) this.#enrollmentRoles.set(copied(user), ROLES[rank]!);
  }

  translate(row: FormatSource): readonly Translation[] {
    const table = tableOf(row);
    if (table === 'manifest') return [];
    const mode = this.#modeOf(table);
    if (mode === 'absent') return [{ dropped: `is in a file that is absent by the manifest: ${table}` }];
    const sourcedId = sourcedIdOf(row, 'sourcedId');
    const isDeleted = statusOf(row, mode === 'delta') === 'tobedeleted';
    switch (table) {
      case 'users':
        return isDeleted
          ? [{ deletes: 'users', id: this.#personOf(sourcedId).id }]
          : this.#translateUser(row, sourcedId);
      case 'classes':
        return [this.#translateClass(row, sourcedId, isDeleted)];
      case 'enrollments':
        return [this.#translateEnrollment(row, isDeleted)];
      case 'roles':
        return this.#checkRole(row);
      default:
        cellOf(row, table === 'orgs' ? 'name' : 'title');
        return [];
    }
  }

  #translateUser(row: FormatSource, sourcedId: string): readonly Translation[] {
    const person = this.#personOf(sourcedId);
    const [firstName, lastName] = namesOf(row);
    // Version 1.1 has no roles.csv.
    const role = this.#roles.get(sourcedId) ?? cellIfAny(row, 'role');
    const properties = {
      sourcedId,
      username: cellIfAny(row, 'username'),
      identifier: cellIfAny(row, 'identifier'),
    };
    const address = addressOf(row);
    const isShared = !this.#addresses.isOwn(sourcedId, address);
    const user: Translation = {
      describes: 'users',
      person: {
        ...{ id: person.id, firstName, lastName, name: given(`${firstName} ${lastName}`) },
        email: isShared
          ? this.#ownAddress(sourcedId, person.email)
          : address === ''
            ? person.email
            : given(address),
        role: role || undefined,
        classRole: lookUp(ENROLLMENT_ROLES, this.#enrollmentRoles.get(sourcedId) ?? ''),
        lms: Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== '')),
      },
    };
    return isShared ? [user, { altered: SHARED }] : [user];
  }

  /** The derived address, which replaces a published one only if somebody else claims that. */
  #ownAddress(sourcedId: string, { text }: Detail): Detail {
    return this.#addresses.mustLeave(sourcedId) ? given(text) : derived(text);
  }

  #translateClass(row: FormatSource, sourcedId: string, isDeleted: boolean): Translation {
    const id = this.#boardIdOf(sourcedId);
    if (isDeleted) return { deletes: 'boards', id };
    const title = given(cellOf(row, 'title'));
    const category = this.#categoryOf(row);
    return { describes: 'boards', board: { id, title, category, courseId: sourcedId } };
  }

  /** The course, or the school if there is none. A course that may have been delivered is kept. */
  #categoryOf(row: FormatSource): string | undefined {
    const course = wordOf(row['courseSourcedId']);
    const title = this.#courses.get(course);
    if (title !== undefined) return title;
    const hasNone = course === '' || this.#modeOf('courses') === 'bulk';
    return hasNone ? this.#schools.get(wordOf(row['schoolSourcedId'])) : undefined;
  }

  #translateEnrollment(row: FormatSource, isDeleted: boolean): Translation {
    const [board, user] = [sourcedIdOf(row, 'classSourcedId'), sourcedIdOf(row, 'userSourcedId')];
    const membership = { boardId: this.#boardIdOf(board), userId: this.#personOf(user).id };
    if (isDeleted) {
      if (!this.#enrolled.has(placeOf(row))) return { deletes: 'memberships', ...membership };
      return { dropped: 'is to be deleted, but a different enrollment keeps the user in the class' };
    }
    cellOf(row, 'role');
    refuseDeleted('classSourcedId', board, this.#classes);
    refuseDeleted('userSourcedId', user, this.#users);
    return { describes: 'memberships', ...membership };
  }

  /** A role is a detail of its user, and is read with the row of the user. Throws `Refusal`. */
  #checkRole(row: FormatSource): readonly Translation[] {
    cellOf(row, 'role');
    if (this.#users.has(sourcedIdOf(row, 'userSourcedId'))) return [];
    return [{ dropped: 'is the role of a user who is not in users.csv' }];
  }

  /** The `sourcedId` in quotes. */
  nameOf(kind: 'users' | 'boards' | 'pins', id: bigint): string | undefined {
    this.#names ??= this.#findNames();
    const sourcedId = this.#names.get(`${kind} ${id}`);
    return sourcedId === undefined ? undefined : quoted(sourcedId);
  }

  /** Every `sourcedId` of the files, by the kind and id of what it identifies. */
  #findNames(): ReadonlyMap<string, string> {
    const enrolled = [...this.#enrolled].map((place): readonly [string, string] => JSON.parse(place));
    const names = new Map<string, string>();
    for (const one of [...this.#classes.keys(), ...enrolled.map(([board]) => board)])
      names.set(`boards ${this.#boardIdOf(one)}`, one);
    for (const one of [...this.#users.keys(), ...enrolled.map(([, user]) => user)])
      names.set(`users ${this.#personOf(one).id}`, one);
    return names;
  }

  #boardIdOf(sourcedId: string): bigint {
    return this.#derivation.numberOf('board', `oneroster ${sourcedId}`);
  }

  #personOf(sourcedId: string): NamedPerson {
    return this.#derivation.personOf({ text: `oneroster ${sourcedId}`, word: sourcedId, kind: 'oneroster' });
  }
}

/** Given and family name. Throws `Refusal`. */
function namesOf(row: FormatSource): readonly [string, string] {
  return [
    cellIfAny(row, 'preferredGivenName') || cellOf(row, 'givenName'),
    cellIfAny(row, 'preferredFamilyName') || cellOf(row, 'familyName'),
  ];
}

/** Throws `Refusal`. */
function refuseDeleted(
  column: string,
  sourcedId: string,
  deleted: ReadonlyMap<string, string | undefined>,
): void {
  const place = deleted.get(sourcedId);
  if (place !== undefined) throw new Refusal(column, `${quoted(sourcedId)} is deleted by ${place}`);
}

/** Throws `Refusal`. */
function note(names: Map<string, string>, row: FormatSource, column: string): void {
  names.set(copied(sourcedIdOf(row, 'sourcedId')), copied(cellOf(row, column)));
}

/** Class and user of an enrollment. Throws `Refusal`. */
function placeOf(row: FormatSource): string {
  return JSON.stringify([sourcedIdOf(row, 'classSourcedId'), sourcedIdOf(row, 'userSourcedId')]);
}

/** The text without the large text of which it may be a slice. */
function copied(text: string): string {
  return structuredClone(text);
}
