import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT, fromCells, fromJson } from '../taken-records.ts';

const PERSON = { id: 1, email: 'ada@x.example', name: 'Ada', role: 'user', class_role: 'instructor' };
const NESTED = {
  type: 'pin',
  action: 'visited',
  owner: PERSON,
  actor: { ...PERSON, id: 2, email: 'bob@x.example' },
  organization: { id: 7, name: 'School', domain: 'x.example', category_id: 0 },
  pin: { id: 4, activity: 'visited', title: 'T', body: 'B', web_url: '', image_url: '', tags: ['a'] },
  board: { id: 3, title: 'Board', category: 'Bookmarks' },
  timestamp: '2018-03-12T17:00:45.567+00:00',
};

test('a user keeps its LMS properties, and absent fields stay unset', () => {
  assert.deepEqual(
    fromJson('users', '{"id":9223372036854775807,"email":"a@x","name":"A B","role":null,"lms.sis":"7"}'),
    [['users', { id: 2n ** 63n - 1n, email: 'a@x', name: 'A B', lms: { sis: '7' } }]],
  );
});

test('an empty cell is an empty text, but not a number or a time', () => {
  assert.deepEqual(fromCells('boards', { id: '5', title: '', category: '', created_at: '' }), [
    ['boards', { id: 5n, title: '', category: '' }],
  ]);
});

test('a row uses the form of a name that is not empty', () => {
  const base = { id: '1', email: 'a@x' };
  const names = (cells: Record<string, string>) => {
    const [[, { name, firstName, lastName }] = ['', {}]] = fromCells('users', { ...base, ...cells });
    return [name, firstName, lastName];
  };
  assert.deepEqual(names({ name: 'A B', first_name: '', last_name: '' }), ['A B', undefined, undefined]);
  assert.deepEqual(names({ name: '', first_name: 'A', last_name: '' }), [undefined, 'A', '']);
  assert.deepEqual(names({ name: 'AB', first_name: 'A', last_name: 'B' }), ['AB', 'A', 'B']);
});

test('tags in a cell are a JSON array or separated by semicolons', () => {
  const tagsOf = (cell: string) => fromCells('pins', { id: '1', tags: cell })[0]?.[1]['tags'];
  assert.deepEqual(tagsOf('["a;b", "c"]'), ['a;b', 'c']);
  assert.deepEqual(tagsOf('a; b;;c'), ['a', 'b', 'c']);
  assert.deepEqual(tagsOf(''), []);
});

test('a flat event is one record', () => {
  assert.deepEqual(fromJson('events', JSON.stringify(EVENT)), [
    [
      'events',
      {
        type: 'pin',
        action: 'visited',
        ownerId: 1n,
        actorId: 2n,
        boardId: 3n,
        pinId: 4n,
        timestampMs: 1_520_874_045_567,
      },
    ],
  ]);
});

const NESTED_RECORDS = [
  ['users', { id: 1n, email: 'ada@x.example', name: 'Ada', role: 'user', classRole: 'instructor' }],
  ['users', { id: 2n, email: 'bob@x.example', name: 'Ada', role: 'user', classRole: 'instructor' }],
  ['boards', { id: 3n, title: 'Board', category: 'Bookmarks' }],
  [
    'pins',
    { id: 4n, boardId: 3n, ownerId: 1n, title: 'T', body: 'B', webUrl: '', imageUrl: '', tags: ['a'] },
  ],
];

test('a nested event is preceded by records of its users, board and pin', () => {
  const [event, ...others] = fromJson('events', JSON.stringify(NESTED)).reverse();
  assert.equal(event?.[0], 'events');
  assert.deepEqual(others.reverse(), NESTED_RECORDS);
});

test('a row of the CSV export gives the same records as the nested event', () => {
  const cells: Record<string, string> = {};
  for (const [name, value] of Object.entries(NESTED)) {
    if (typeof value === 'string') cells[name] = value;
    else {
      for (const [inner, member] of Object.entries(value)) {
        cells[`${name}_${inner}`] = Array.isArray(member) ? JSON.stringify(member) : String(member);
      }
    }
  }
  assert.deepEqual(fromCells('events', cells), fromJson('events', JSON.stringify(NESTED)));
});

test('a row of the CSV export without a pin leaves its cells empty', () => {
  const { pin: _pin, ...nested } = NESTED;
  const followed = { ...nested, type: 'board', action: 'followed' };
  assert.deepEqual(
    fromJson('events', JSON.stringify(followed)).map(([kind]) => kind),
    ['users', 'users', 'boards', 'events'],
  );
  const row = {
    type: 'board',
    action: 'followed',
    owner_id: '1',
    actor_id: '2',
    board_id: '3',
    timestamp: '0',
  };
  const pin = { pin_id: '', pin_activity: '', pin_title: '', pin_tags: '' };
  assert.deepEqual(
    fromCells('events', { ...row, ...pin }).map(([kind]) => kind),
    ['events'],
  );
});
