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
const status = fc.constantFrom('', 'active');

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
    sourcedId: fc.constant(`c${number}`),
    title: mostly(`Course ${number}`),
    orgSourcedId: fc.constant('o1'),
  }),
);
const org = fc.record({
  sourcedId: fc.constant('o1'),
  name: mostly('School'),
  type: fc.constant('school'),
});
const role = person.chain((who) =>
  fc.record({
    ...{ sourcedId: fc.constant(`r${who}`), userSourcedId: mostly(`u${who}`) },
    ...{
      roleType: fc.constantFrom('primary', 'secondary'),
      role: fc.constant(who === 1 ? 'teacher' : 'student'),
    },
  }),
);
const enrollment = fc.tuple(person, page).chain(([who, number]) =>
  fc.record({
    ...{ sourcedId: fc.constant(`e${who}${number}`), classSourcedId: mostly(`k${number}`) },
    ...{ userSourcedId: mostly(`u${who}`), role: fc.constantFrom('teacher', 'student', 'ext:guest') },
  }),
);

const MANIFEST = ['manifest.version,1.0', 'oneroster.version,1.2', 'file.users,bulk'].map((line) => {
  const [propertyName, value] = line.split(',');
  return { propertyName, value };
});
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  ...{ users: ['sourcedId', 'familyName'], classes: ['sourcedId', 'title'], courses: ['title'] },
  ...{ orgs: ['name'], roles: ['userSourcedId'] },
};

export const rosters: Documents = {
  format: oneroster,
  options: {},
  records: numbered(() => fc.oneof(user, roster, course, org, role, enrollment)),
  // An enrollment may name a user or a class that is in no row.
  isValid(row) {
    const table = tableOf(row);
    return table !== 'enrollments' && (REQUIRED[table] ?? []).every((column) => row[column] !== '');
  },
  write(rows) {
    const tables = Map.groupBy([...MANIFEST, ...rows], tableOf);
    return [...tables].map(([table, records]) => {
      const columns = Object.keys(records[0] ?? {});
      const lines = records.map((row: FormatSource) => columns.map((column) => row[column]).join(','));
      const text = `${[columns.join(','), ...lines].join('\n')}\n`;
      return { name: `${table}.csv`, text, firstLine: 2, records };
    });
  },
  countOf: (row) => (['users', 'classes', 'enrollments'].includes(tableOf(row)) ? 1 : 0),
};
