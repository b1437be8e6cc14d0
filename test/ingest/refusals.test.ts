import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillForm, readHeader } from '../../src/ingest/fields/form.ts';
import type { RecordKind } from '../../src/store/staging.ts';
import { EVENT, fromCells, fromJson, readAs, refusalOf } from './taken-records.ts';

const USER = { id: 1, email: 'a@x', name: 'A' };
const ADJUSTMENT = { user_id: 1, board_id: 1, points: 5, timestamp: 0, reason: 'typo' };
const POINTS = { user_id: 1, board_id: 1, total_points: 5, participation_score: 5 };

/** Kind, changes to a valid record, and the refusal. */
const REFUSED: readonly (readonly [RecordKind, Record<string, unknown>, string])[] = [
  ['users', { id: undefined }, 'id: is required'],
  ['users', { id: '9223372036854775808' }, 'id: 9223372036854775808 exceeds 64 bits'],
  ['users', { id: 'x1' }, 'id: "x1" is not an integer'],
  ['users', { id: 1.5 }, 'id: must be an integer, without fraction or exponent'],
  ['users', { id: '1.0' }, 'id: "1.0" is not an integer'],
  ['users', { id: true }, 'id: must be an integer, but is true'],
  ['users', { email: '' }, 'email: must not be empty'],
  ['users', { email: null }, 'email: is required'],
  [
    'users',
    { email: 'a@x ' },
    'email: must not contain control characters, or begin or end with white space',
  ],
  ['users', { email: 'a'.repeat(321) }, 'email: must have at most 320 characters, but has 321'],
  ['users', { email: 'User-77@Forgotten.invalid' }, 'email: belongs to a different user, who was forgotten'],
  ['users', { forgotten: 'yes' }, 'forgotten: must be true or false, but is "yes"'],
  ['users', { name: null }, 'name: is required, unless first_name or last_name is given'],
  ['users', { name: 5 }, 'name: must be text, but is 5'],
  ['users', { name: 'a\0' }, 'name: must not contain a NUL character'],
  ['users', { name: '\ud800' }, 'name: must not contain half of a surrogate pair'],
  ['users', { name: 'a'.repeat(65_537) }, 'name: must have at most 65536 characters, but has 65537'],
  ['users', { emial: 'x' }, 'emial: "emial" is not a field of users; did you mean email?'],
  ['users', { __proto__x: 1 }, refusedName('__proto__x')],
  [
    'users',
    { 'lms.a b': 'x' },
    'lms.a b: must name an LMS property of 1 to 64 printable characters without white space',
  ],
  ['users', { 'lms.sis': 5 }, 'lms.sis: must be text, but is 5'],
  [
    'users',
    { created_at: '2018-03-12T17:00:45.567' },
    'created_at: "2018-03-12T17:00:45.567" has no offset from UTC; write it as 2018-03-12T17:00:45.567+00:00',
  ],
  [
    'users',
    { created_at: '2018-02-29T00:00:00Z' },
    'created_at: "2018-02-29T00:00:00Z" is not a date and time of the calendar between the years 1 and 9999',
  ],
  [
    'users',
    { created_at: '12/03/2018' },
    'created_at: "12/03/2018" is neither an ISO 8601 date-time with an offset, such as 2018-03-12T17:00:45+00:00, nor Unix milliseconds',
  ],
  [
    'users',
    { created_at: '2018-03-12' },
    'created_at: "2018-03-12" is a day without a time; write it as 2018-03-12T00:00:00+00:00',
  ],
  [
    'users',
    { created_at: 999_999_999_999_999 },
    'created_at: 999999999999999 lies outside the years 1 to 9999',
  ],
  ['events', { pin_id: undefined }, 'pin_id: is required, because type is pin'],
  ['events', { type: 'board' }, 'pin_id: must not be given: only events of type pin have a pin'],
  ['events', { type: 'pin.x' }, 'type: must be 1 to 64 printable characters without a full stop'],
  ['events', { action: '' }, 'action: must be 1 to 64 printable characters without a full stop'],
  ['events', { pin_activity: 'other' }, 'pin_activity: must repeat action'],
  ['events', { owner_name: 'Ada' }, 'owner_email: is required, because other details of the owner are given'],
  ['events', { board_category: 'C' }, 'board_title: is required with board_category'],
  ['events', { organization_id: 8 }, 'organization_id: is 8, but the id of the organization is 7'],
  ['events', { owner: 5 }, 'owner: must be an object'],
  ['events', { owner: { id: 1 } }, 'owner.id: is given twice, flat and nested'],
  [
    'events',
    { pin: { tilte: 'x' } },
    'pin.tilte: "pin.tilte" is not a field of events; did you mean pin.title?',
  ],
  ['points', { total_points: -1 }, 'total_points: must be 0 or more, but is -1'],
  [
    'points',
    { total_points: '9007199254740993' },
    'total_points: 9007199254740993 is outside -1000000000000 to 1000000000000',
  ],
  [
    'adjustments',
    { points: -1_000_000_000_001 },
    'points: -1000000000001 is outside -1000000000000 to 1000000000000',
  ],
  ['points', { email: 'a@x' }, refusedName('email', 'points')],
];

function refusedName(name: string, kind: 'users' | 'points' = 'users'): string {
  const known = {
    users: 'id, email, name, first_name, last_name, role, class_role, created_at, forgotten, deleted',
    points: 'user_id, board_id, total_points, participation_score, deleted',
  };
  return `${name}: "${name}" is not a field of ${kind}; the fields are ${known[kind]}`;
}

type BaseKind = 'users' | 'events' | 'points' | 'adjustments';

for (const [kind, change, refusal] of REFUSED) {
  test(`${kind} with ${JSON.stringify(change).slice(0, 60)} are refused`, () => {
    const base = { users: USER, events: EVENT, points: POINTS, adjustments: ADJUSTMENT }[kind as BaseKind];
    // Through JSON, which is how such a record arrives.
    assert.equal(
      refusalOf(() => fromJson(kind, JSON.stringify({ ...base, ...change }))),
      refusal,
    );
  });
}

test('tags that are not a list of texts are refused', () => {
  for (const tags of [5, {}, 'a', ['a', 1], [null], new Array(1001).fill('a')]) {
    assert.notEqual(
      refusalOf(() => readAs('pins', { id: 1, tags }, false)),
      'accepted',
      JSON.stringify(tags),
    );
  }
  assert.notEqual(
    refusalOf(() => fromCells('pins', { id: '1', tags: '[1]' })),
    'accepted',
  );
  assert.notEqual(
    refusalOf(() => fromCells('pins', { id: '1', tags: '["a"' })),
    'accepted',
  );
});

test('a required cell that is empty is refused', () => {
  assert.equal(
    refusalOf(() => fromCells('memberships', { board_id: '1', user_id: '' })),
    'user_id: is required',
  );
});

test('names in a header may be in any case, and have spaces around them', () => {
  assert.deepEqual(readHeader('users', ['ID', ' Email', 'first_Name ', 'LMS.Login_Id']), [
    ...['id', 'email', 'first_name', 'lms.Login_Id'],
  ]);
  assert.equal(
    refusalOf(() => readHeader('users', ['id', 'Id', 'email'])),
    'id: is twice in the header',
  );
});

test('points in cells may have a fraction of zero, as spreadsheets write them', () => {
  const record = { board_id: '1', user_id: '2', timestamp: '2026-01-01T00:00:00Z', reason: 'x' };
  const pointsOf = (points: string) =>
    fillForm('adjustments', { value: { ...record, points }, isCells: true }).values.points;
  assert.deepEqual(['10,0', '10.00', '-3,00', '7'].map(pointsOf), [10, 10, -3, 7]);
  for (const points of ['10,5', '1.000', '1,000', '10,', '1.0.0']) {
    assert.equal(
      refusalOf(() => pointsOf(points)),
      `points: "${points}" is not an integer`,
    );
  }
});

test('a header under which no record can be valid is refused', () => {
  const refusals = (
    [
      ['users', ['id', 'email', 'id']],
      ['users', ['id', 'e-mail', 'name']],
      ['users', ['id', 'name']],
      ['users', ['id|email|name']],
      ['users', ['id', 'email', 'name\r1']],
      ['users', ['id', 'email', 'name', 'lms.sis']],
    ] as const
  ).map(([kind, header]) => refusalOf(() => readHeader(kind, header)));
  assert.deepEqual(refusals, [
    'id: is twice in the header',
    'e-mail: "e-mail" is not a field of users; did you mean email?',
    'email: is required, but is not in the header',
    ': the cells of the header must be separated by commas, semicolons or tabs',
    ': lines must end with LF or CRLF',
    'accepted',
  ]);
});
