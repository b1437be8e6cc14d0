/** Contract section 2: the type, presence and value of every field of every resource. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { get } from '../model/client.ts';
import * as fixture from '../world.ts';

/** JSON types of the contract. Integers are compared as text: `number` cannot hold all of them. */
type Type = 'string' | 'integer' | 'array' | 'object';
type Fields = Readonly<Record<string, Type>>;

const PERSON: Fields = {
  id: 'integer',
  email: 'string',
  name: 'string',
  role: 'string',
  class_role: 'string',
};
const EVENT: Fields = {
  type: 'string',
  action: 'string',
  owner: 'object',
  actor: 'object',
  organization: 'object',
  board: 'object',
  timestamp: 'string',
};
const PIN: Fields = {
  id: 'integer',
  activity: 'string',
  title: 'string',
  body: 'string',
  web_url: 'string',
  image_url: 'string',
  tags: 'array',
};
const POINTS: Fields = {
  user_id: 'integer',
  board_id: 'integer',
  email: 'string',
  total_points: 'integer',
  participation_score: 'integer',
};

interface Row {
  /** The statement of the contract. */
  readonly statement: string;
  readonly path: string;
  /** Extracts the resources of this kind from the parsed body. */
  readonly pick: (answer: unknown) => readonly unknown[];
  readonly fields: Fields;
  /** Their number in the fixture. */
  readonly count: number;
}

const TABLES: readonly Row[] = [
  ...(['a', 'b'] as const).flatMap((variant): Row[] => {
    const path = `/${variant}/v1/events`;
    const rows = [
      { statement: '2.1 Event of type pin', pick: withPin, fields: { ...EVENT, pin: 'object' }, count: 6 },
      { statement: '2.1 Event of a different type', pick: withoutPin, fields: EVENT, count: 4 },
      { statement: '2.2 Person (owner)', pick: members('owner'), fields: PERSON, count: 10 },
      { statement: '2.2 Person (actor)', pick: members('actor'), fields: PERSON, count: 10 },
      {
        statement: '2.3 Organization',
        pick: members('organization'),
        fields: { id: 'integer', name: 'string', domain: 'string', category_id: 'integer' },
        count: 10,
      },
      {
        statement: '2.4 Pin',
        pick: (answer) => withPin(answer).flatMap(member('pin')),
        fields: PIN,
        count: 6,
      },
      {
        statement: '2.5 BoardRef',
        pick: members('board'),
        fields: { id: 'integer', title: 'string', category: 'string' },
        count: 10,
      },
    ] satisfies Omit<Row, 'path'>[];
    return rows.map((row) => ({ ...row, path }));
  }),
  {
    statement: '2.6 Board list item A',
    path: '/a/v1/boards',
    pick: elements,
    fields: { id: 'integer', title: 'string' },
    count: 4,
  },
  {
    statement: '2.6 Board list item B',
    path: '/b/v1/boards',
    pick: elements,
    fields: { id: 'integer', title: 'string', category: 'string' },
    count: 4,
  },
  {
    statement: '2.7 User list item A',
    path: '/a/v1/users',
    pick: elements,
    fields: { id: 'integer', first_name: 'string', last_name: 'string', email: 'string' },
    count: 7,
  },
  {
    statement: '2.7 User list item B',
    path: '/b/v1/users',
    pick: elements,
    fields: { id: 'integer', email: 'string', role: 'string', name: 'string' },
    count: 7,
  },
  { statement: '2.8 Points record', path: '/a/v1/board/7/points', pick: values, fields: POINTS, count: 3 },
  { statement: '2.8 Points record', path: '/a/v1/user/1/points', pick: values, fields: POINTS, count: 2 },
];

function elements(answer: unknown): readonly unknown[] {
  assert.ok(Array.isArray(answer), 'the answer is an array');
  return answer;
}

function values(answer: unknown): readonly unknown[] {
  assert.ok(isObject(answer), 'the answer is an object');
  return Object.values(answer);
}

function member(name: string): (resource: unknown) => unknown {
  return (resource) => (isObject(resource) ? resource[name] : undefined);
}

function members(name: string): (answer: unknown) => readonly unknown[] {
  return (answer) => elements(answer).map(member(name));
}

function withPin(answer: unknown): readonly unknown[] {
  return elements(answer).filter((event) => member('type')(event) === 'pin');
}

function withoutPin(answer: unknown): readonly unknown[] {
  return elements(answer).filter((event) => member('type')(event) !== 'pin');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Integers become `bigint`, which rejects a fraction or an exponent in the text. */
function parseExactly(text: string): unknown {
  return JSON.parse(text, (_name, value, context?: { readonly source?: string }) =>
    typeof value === 'number' ? BigInt(context?.source ?? '') : value,
  );
}

function typeOf(value: unknown): string {
  if (typeof value === 'bigint') return 'integer';
  return Array.isArray(value) ? 'array' : typeof value;
}

describe('contract 2: resources', () => {
  let world: fixture.World;
  before(async () => {
    world = await fixture.openWorld();
  });
  after(() => world.close());

  for (const { statement, path, pick, fields, count } of TABLES) {
    it(`${statement}, ${path}: has exactly its fields (${Object.keys(fields).join(', ')}), each of its type`, async () => {
      const resources = pick(parseExactly((await get(world.url + path, world.keys.full)).text));
      assert.equal(resources.length, count);
      for (const resource of resources) {
        assert.ok(isObject(resource));
        const types = Object.fromEntries(
          Object.entries(resource).map(([name, value]) => [name, typeOf(value)]),
        );
        assert.deepEqual(types, fields);
      }
    });
  }

  it('2.1 to 2.5: an event of type pin, literally', async () => {
    const { text } = await get(`${world.url}/a/v1/events?end=2018-03-13T00:00:00Z`, world.keys.full);
    const expected =
      '{"type":"pin","action":"commented",' +
      '"owner":{"id":1,"email":"ada@harbor.example","name":"Ada Lovelace","role":"coadmin","class_role":"instructor"},' +
      '"actor":{"id":9007199254740993,"email":"zoe@harbor.example","name":"Zoë Ångström 🙂","role":"user","class_role":"student"},' +
      '"organization":{"id":9007199254740995,"name":"Harbor College","domain":"harbor.example","category_id":12},' +
      '"pin":{"id":100,"activity":"commented","title":"On irony","body":"Irony says\\none thing, and \\"means\\" another.",' +
      '"web_url":"https://harbor.example/irony?a=1&b=2","image_url":"https://harbor.example/irony.png","tags":["style","a, \\"b\\""]},' +
      '"board":{"id":7,"title":"Rhetoric","category":"Communications"},"timestamp":"2018-03-12T17:00:45.567+00:00"}';
    assert.ok(text.endsWith(`,${expected}]`), text);
  });

  it('2.1 Event: an event of a different type, before 1970 and with the largest id, literally, without a pin', async () => {
    const { text } = await get(`${world.url}/b/v1/board/9223372036854775807`, world.keys.full);
    assert.equal(
      text,
      '[{"type":"badge","action":"awarded",' +
        '"owner":{"id":1,"email":"ada@harbor.example","name":"Ada Lovelace","role":"coadmin","class_role":"instructor"},' +
        '"actor":{"id":9007199254740993,"email":"zoe@harbor.example","name":"Zoë Ångström 🙂","role":"user","class_role":"student"},' +
        '"organization":{"id":9007199254740995,"name":"Harbor College","domain":"harbor.example","category_id":12},' +
        '"board":{"id":9223372036854775807,"title":"Far","category":"Bookmarks"},"timestamp":"1969-12-31T23:59:59.999+00:00"}]',
    );
  });

  it('2.1 Event: every timestamp has milliseconds and a numeric offset of zero', async () => {
    const answer: unknown = JSON.parse((await get(`${world.url}/a/v1/events`, world.keys.full)).text);
    for (const timestamp of members('timestamp')(answer)) {
      assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
    }
  });

  it('2.4 Pin: activity repeats the action, and fields that were not imported are empty', async () => {
    const answer: unknown = JSON.parse((await get(`${world.url}/a/v1/events/board/8`, world.keys.full)).text);
    for (const event of elements(answer)) {
      const pin = member('pin')(event);
      assert.equal(member('activity')(pin), member('action')(event));
      assert.equal(member('body')(pin), '');
      assert.deepEqual(member('tags')(pin), []);
    }
  });

  it('2.7 User list item A: a name is split at its last space', async () => {
    const answer: unknown = JSON.parse((await get(`${world.url}/a/v1/users`, world.keys.full)).text);
    const halves = elements(answer).map((user) => [member('first_name')(user), member('last_name')(user)]);
    assert.deepEqual(halves.slice(0, 3), [
      ['Ada', 'Lovelace'],
      ['Olive', 'Owner'],
      ['Bob "Bobby" O’Neil,', 'Jr.'],
    ]);
  });

  it('2.7 User list item B: a name in halves is joined', async () => {
    const answer: unknown = JSON.parse((await get(`${world.url}/b/v1/users`, world.keys.full)).text);
    assert.deepEqual(members('name')(answer)[1], 'Olive Owner');
  });
});
