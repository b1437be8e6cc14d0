/** Rows of a Moodle log report, in one file. */
import fc from 'fast-check';
import type { FormatSource } from '../../../../src/ingest/formats/format.ts';
import { MEANINGS, moodleLog } from '../../../../src/ingest/formats/moodle-log.ts';
import { type Documents, numbered, page, person } from './documents.ts';

const COLUMNS = ['Time', 'User full name', 'Affected user', 'Event context', 'Event name', 'Description'];
const COURSE = "viewed the course with id '111'.";
const OTHER_COURSE = "course with id '112'";

const nameOf = (number: number) => fc.constantFrom(`Given person ${number}`, '-', '');
const COURSES = ['Other', 'Course: Given course'];
/** Rows about a course have it as their context. */
const contextOf = (number: number, description: string) =>
  fc.constantFrom(
    ...COURSES,
    ...(description.includes('course with id') ? [] : [`Page: Given page ${number}`]),
  );

const descriptionOf = (who: number, whom: number, about: number) =>
  fc.constantFrom(
    `The user with id '${who}' ${COURSE}`,
    `The user with id '${who}' viewed the 'page' activity with course module id '${about}'.`,
    `The user with id '${who}' enrolled the user with id '${whom}' in the course with id '111'.`,
    `The user with id '${who}' viewed the ${OTHER_COURSE}.`,
    'Somebody did something.',
  );

/** Whether a damaged row names another course is not modelled. */
const timeOf = (number: number, description: string) =>
  fc.oneof(
    { arbitrary: fc.constant(`25/02/24, 10:${10 + number}`), weight: 9 },
    {
      arbitrary: fc.constantFrom('11 May, 09:44', '31/02/24, 10:00', ''),
      weight: description.includes(OTHER_COURSE) ? 0 : 1,
    },
  );

const row = (number: number): fc.Arbitrary<FormatSource> =>
  fc.tuple(person, person, page).chain(([who, whom, about]) =>
    descriptionOf(who, whom, about).chain((description) =>
      fc.record({
        Time: timeOf(number, description),
        'User full name': nameOf(who),
        'Affected user': nameOf(whom),
        'Event context': contextOf(about, description),
        'Event name': fc.constantFrom(...Object.keys(MEANINGS), 'Grades viewed'),
        Description: fc.constant(description),
      }),
    ),
  );

/** In every file, so that a course is named. */
const FIRST = {
  ...{ Time: '25/02/24, 10:00', 'User full name': '-', 'Affected user': '-', 'Event context': 'Other' },
  ...{ 'Event name': 'Grades viewed', Description: `The user with id '1' ${COURSE}` },
};

export const logs: Documents = {
  format: moodleLog,
  options: { timeZone: 'UTC' },
  records: numbered(row),
  isValid: ({ Time: time }) => String(time).startsWith('25/02/24'),
  write(records) {
    const rows = [FIRST, ...records];
    const cells = (one: FormatSource) => COLUMNS.map((name) => `"${one[name]}"`).join(',');
    const text = [COLUMNS.join(','), ...rows.map(cells), ''].join('\n');
    return [{ name: 'log.csv', text, firstLine: 2, records: rows }];
  },
  countOf: () => 1,
};
