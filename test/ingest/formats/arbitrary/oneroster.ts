/** Rows of the CSV files of OneRoster, in a folder with a manifest. */
import fc from 'fast-check';
import type { FormatSource } from '../../../../src/ingest/formats/format.ts';
import { oneroster } from '../../../../src/ingest/formats/oneroster.ts';
import { tableOf } from '../../../../src/ingest/formats/oneroster-tables.ts';
import { type Documents, numbered, page, person } from './documents.ts';

/** A cell that may be empty. */
const maybe = (text: string) => fc.constantFrom(text, '');
/** In one row of ten, the cell is empty. */
const mostly = (text: string) =>
  fc.oneof({ arbitrary: fc.constant(text), weight: 9 }, { arbitrary: fc.constant(''), weight: 1 });
const status = fc.constant('active');
const deleted = fc.constant('tobedeleted');

const user = person.chain((who) =>
  fc.record({
    ...{ sourcedId: mostly(`u${who}`), status, username: fc.constant(`login${who}`) },
    ...{ givenName: fc.constant(`Given ${who}`), familyName: mostly('Person') },
    ...{ email: maybe(`person${who}@x.example`), identifier: fc.constant(`S${who}`) },
  }),
);
const roster = page.chain((number) =>
  fc.record({
    ...{ sourcedId: mostly(`k${number}`), status, title: mostly(`Given class ${number}`) },
    ...{ courseSourcedId: fc.constant(`c${number}`), schoolSourcedId: fc.constant('o1') },
  }),
);
const course = page.chain((number) =>
  fc.record({
    status,
    sourcedId: fc.constant(`c${number}`),
    title: mostly(`Course ${number}`),
    orgSourcedId: fc.constant('o1'),
  }),
);
const org = fc.record({
  status,
  sourcedId: fc.constant('o1'),
  name: mostly('School'),
  type: fc.constant('school'),
});
const role = person.chain((who) =>
  fc.record({
    ...{ sourcedId: fc.constant(`r${who}`), status, userSourcedId: mostly(`u${who}`) },
    ...{
      roleType: fc.constantFrom('primary', 'secondary'),
      role: fc.constant(who === 1 ? 'teacher' : 'student'),
    },
  }),
);
const enrollment = fc.tuple(person, page).chain(([who, number]) =>
  fc.record({
    ...{ sourcedId: fc.constant(`e${who}${number}`), status, classSourcedId: mostly(`k${number}`) },
    ...{ userSourcedId: mostly(`u${who}`), role: fc.constantFrom('teacher', 'student', 'ext:guest') },
  }),
);

/** Users and classes that no other row describes, and enrollments that another row may have. */
const deletion = fc.tuple(person, page).chain(([who, number]) =>
  fc.oneof(
    fc.record({
      ...{ sourcedId: fc.constant(`gone u${who}`), status: deleted, username: fc.constant('') },
      ...{ givenName: fc.constant(''), familyName: fc.constant(''), email: fc.constant('') },
      identifier: fc.constant(''),
    }),
    fc.record({
      ...{ sourcedId: fc.constant(`gone k${number}`), status: deleted, title: fc.constant('') },
      ...{ courseSourcedId: fc.constant(''), schoolSourcedId: fc.constant('') },
    }),
    fc.record({
      ...{ sourcedId: fc.constant(`gone e${who}${number}`), status: deleted },
      ...{ classSourcedId: mostly(`k${number}`), userSourcedId: mostly(`u${who}`) },
      role: fc.constant('student'),
    }),
  ),
);

const MODES = ['users', 'classes', 'courses', 'orgs', 'roles', 'enrollments'].map(
  (table) => `file.${table},delta`,
);
const MANIFEST = ['manifest.version,1.0', 'oneroster.version,1.2', ...MODES].map((line) => {
  const [propertyName, value] = line.split(',');
  return { propertyName, value };
});
const IDENTIFYING: Readonly<Record<string, readonly string[]>> = {
  ...{ users: ['sourcedId'], classes: ['sourcedId'], enrollments: ['classSourcedId', 'userSourcedId'] },
};
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  ...{ users: ['sourcedId', 'familyName'], classes: ['sourcedId', 'title'], courses: ['title'] },
  ...{ orgs: ['name'], roles: ['userSourcedId'], enrollments: ['classSourcedId', 'userSourcedId'] },
};

const isDeleted = (row: FormatSource) => row['status'] === 'tobedeleted';

function isWhole(row: FormatSource): boolean {
  const table = tableOf(row);
  const columns = (isDeleted(row) ? IDENTIFYING : REQUIRED)[table] ?? [];
  return columns.every((column) => row[column] !== '');
}

function hasRow(rows: readonly FormatSource[], table: string, sourcedId: unknown): boolean {
  return rows.some((row) => tableOf(row) === table && row['sourcedId'] === sourcedId);
}

/** Whether valid rows describe the user and the class of an enrollment; else it may be refused. */
function isPlaced(row: FormatSource, all: readonly FormatSource[]): boolean {
  const described = all.filter((one) => isWhole(one) && !isDeleted(one));
  const { classSourcedId, userSourcedId } = row;
  const isKnown = hasRow(described, 'classes', classSourcedId) && hasRow(described, 'users', userSourcedId);
  return isDeleted(row) || isKnown;
}

export const rosters: Documents = {
  format: oneroster,
  options: {},
  records: numbered(() => fc.oneof(user, roster, course, org, role, enrollment, deletion)),
  isValid: (row, all) => isWhole(row) && (tableOf(row) !== 'enrollments' || isPlaced(row, all)),
  write(rows) {
    const tables = Map.groupBy([...MANIFEST, ...rows], tableOf);
    return [...tables].map(([table, records]) => {
      const columns = Object.keys(records[0] ?? {});
      const lines = records.map((row: FormatSource) => columns.map((column) => row[column]).join(','));
      const text = `${[columns.join(','), ...lines].join('\n')}\n`;
      return { name: `${table}.csv`, text, firstLine: 2, records };
    });
  },
  countOf(row, all) {
    const table = tableOf(row);
    // A role counts only if it is dropped.
    if (table === 'roles') return hasRow(all, 'users', row['userSourcedId']) ? 0 : 1;
    return ['users', 'classes', 'enrollments'].includes(table) ? 1 : 0;
  },
};
