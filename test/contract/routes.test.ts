/** Contract section 4: each row of its tables, in both variants, with its response. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertProblem, assertSuccess, get } from '../model/client.ts';
import * as fixture from '../world.ts';

/** Instants in March 2018, in the 13-digit form of the contract's example. */
const MONDAY_MS = Date.parse('2018-03-12T17:00:45.567Z');
const TUESDAY_MS = Date.parse('2018-03-13T00:00:00.000Z');
const THURSDAY_MS = Date.parse('2018-03-15T12:30:00.250Z');

interface Row {
  readonly statement: string;
  readonly path: string;
  /** The identity of each element, in order; for a map, its names. */
  readonly answer: readonly string[];
}

const BADGE = 'badge.awarded';
const MONDAY_EVENTS = ['board.followed', 'pin.created', 'pin.commented'];
const TUESDAY_EVENTS = ['pin.visited', 'pin.visited', 'pin.visited'];
const WEDNESDAY_EVENTS = ['board.followed', 'board.unfollowed'];
const ALL = [BADGE, ...MONDAY_EVENTS, ...TUESDAY_EVENTS, ...WEDNESDAY_EVENTS, 'pin.commented'];
const PINS = ['pin.created', 'pin.commented', ...TUESDAY_EVENTS, 'pin.commented'];
const ON_RHETORIC = ['ada@harbor.example', 'mute@harbor.example', 'zoe@harbor.example'];
const ON_STARS = ['ada@harbor.example', 'Olive@Harbor.example', 'bob@harbor.example', 'pat@harbor.example'];
const BOARDS = ['7', '8', '9', '9223372036854775807'];
const USERS = ['1', '2', '3', '5', '6', '7', '9007199254740993'];

const ROWS: readonly Row[] = [
  ...(['a', 'b'] as const).flatMap((variant): Row[] => {
    const table = variant === 'a' ? '4.2' : '4.3';
    const base = `/${variant}/v1`;
    const [board, pins, user] =
      variant === 'a' ? ['events/board', 'events/pins', 'events/user'] : ['board', 'pins', 'user'];
    return [
      {
        statement: `${table} /events: all interactions of the organization`,
        path: `${base}/events`,
        answer: ALL,
      },
      {
        statement: `${table} /${board}/:board-id: all interactions on that board`,
        path: `${base}/${board}/7`,
        answer: [...MONDAY_EVENTS, ...WEDNESDAY_EVENTS],
      },
      { statement: `4.4.1 /${board}/:board-id: empty-capable`, path: `${base}/${board}/9`, answer: [] },
      { statement: `${table} /${pins}: type pin, across all boards`, path: `${base}/${pins}`, answer: PINS },
      {
        statement: `${table} /${user}/:user-id: all interactions from that user, as actor`,
        path: `${base}/${user}/1`,
        answer: ['board.followed', 'pin.created', ...TUESDAY_EVENTS],
      },
      { statement: `4.4.1 /${user}/:user-id: empty-capable`, path: `${base}/${user}/2`, answer: [] },
      { statement: `${table} /boards: all boards`, path: `${base}/boards`, answer: BOARDS },
      { statement: `${table} /users: all users`, path: `${base}/users`, answer: USERS },
      {
        statement: `4.1 start and end: users by creation time, or else by their first event`,
        path: `${base}/users?start=${Date.parse('2018-02-01T00:00:00Z')}&end=${MONDAY_MS + 1}`,
        answer: ['3', '5', '7'],
      },
      {
        statement: `4.1 end alone: users created before it; users without a time are in no range`,
        path: `${base}/users?end=0`,
        answer: ['9007199254740993'],
      },
      {
        statement: `4.1 start and end: boards`,
        path: `${base}/boards?start=${MONDAY_MS}&end=${Date.parse('2018-06-01T00:00:00.001Z')}`,
        answer: ['8', '9'],
      },
      {
        statement: `4.1 start is in, end is out`,
        path: `${base}/events?start=${MONDAY_MS}&end=${TUESDAY_MS}`,
        answer: MONDAY_EVENTS,
      },
      {
        statement: `4.1 start alone`,
        path: `${base}/${user}/1?start=${MONDAY_MS + 1}`,
        answer: TUESDAY_EVENTS,
      },
      {
        statement: `4.1 start and end in seconds, as decision 5 allows`,
        path: `${base}/${pins}?start=${TUESDAY_MS / 1000}&end=${TUESDAY_MS / 1000 + 1}`,
        answer: TUESDAY_EVENTS,
      },
      {
        statement: `4.1 start and end with an offset, as decision 5 allows`,
        path: `${base}/${board}/8?start=2018-03-13T01:00:00%2B01:00&end=2018-03-12T20:00:00.001-04:00`,
        answer: TUESDAY_EVENTS,
      },
      {
        statement: `4.1 start = end is empty`,
        path: `${base}/events?start=${TUESDAY_MS}&end=${TUESDAY_MS}`,
        answer: [],
      },
    ];
  }),
  {
    statement: '4.2 /board/:boardId/points: all users on that board',
    path: '/a/v1/board/7/points',
    answer: ON_RHETORIC,
  },
  {
    statement: '4.2 /board/:boardId/points: users with imported points',
    path: '/a/v1/board/8/points',
    answer: ON_STARS,
  },
  { statement: '4.2 /board/:boardId/points: no users', path: '/a/v1/board/9/points', answer: [] },
  {
    statement: '4.2 /user/:userId/points: boards the user follows',
    path: '/a/v1/user/1/points',
    answer: ['1', '1:8'],
  },
  { statement: '4.2 /user/:userId/points: not unfollowed ones', path: '/a/v1/user/3/points', answer: ['3'] },
  {
    statement: '4.2 /user/:userId/points: an owner who gets points and never acts',
    path: '/a/v1/user/2/points',
    answer: ['2'],
  },
  { statement: '4.2 /user/:userId/points: none', path: '/a/v1/user/6/points', answer: [] },
  {
    statement: '4.2 /user/:userId/points?key=board',
    path: '/a/v1/user/1/points?key=board',
    answer: ['7', '8'],
  },
  {
    statement: '4.1 start = end is empty on a points route, too',
    path: `/a/v1/board/7/points?start=${TUESDAY_MS}&end=${TUESDAY_MS}`,
    answer: [],
  },
  {
    statement: '4.2 /lti/:ltiId/points: same as the board',
    path: '/a/v1/lti/lti-rhetoric/points',
    answer: ON_RHETORIC,
  },
  {
    statement: '4.2 /lti/:ltiId/points: percent-decoded',
    path: '/a/v1/lti/lti%208%25/points',
    answer: ON_STARS,
  },
  {
    statement: '4.2 /course/:courseId/points: same as the board, percent-decoded',
    path: '/a/v1/course/RHET%20101%2F%C3%A9/points',
    answer: ON_RHETORIC,
  },
  {
    statement: '4.2 /lms_user/:prop/:val/points: same as the user, percent-decoded',
    path: '/a/v1/lms_user/sis_user_id/S%201%2F%C3%A4/points',
    answer: ['1', '1:8'],
  },
  {
    statement: '4.2 /lms_user/:prop/:val/points: a property with a slash',
    path: '/a/v1/lms_user/login%2Fid/ada/points?key=board',
    answer: ['7', '8'],
  },
];

/**
 * Kinds of the events, ids of boards and users, or names of the map. Ids are taken from the text,
 * so that they stay exact.
 */
function outline(text: string): readonly string[] {
  const answer: unknown = JSON.parse(text, (name, value, context?: { readonly source?: string }) =>
    name === 'id' ? context?.source : value,
  );
  if (!Array.isArray(answer)) return Object.keys(Object(answer));
  return answer.map((element) => ('type' in element ? `${element.type}.${element.action}` : element.id));
}

describe('contract 4: endpoints', () => {
  let world: fixture.World;
  before(async () => {
    world = await fixture.openWorld();
  });
  after(() => world.close());

  for (const { statement, path, answer } of ROWS) {
    it(`${statement}: ${path}`, async () => {
      const reply = await get(world.url + path, world.keys.full);
      assertSuccess(reply);
      assert.deepEqual(outline(reply.text), answer);
    });
  }

  it('4.1 the query of the example in Variant B without /v1: /users?start=<unix_ts>&end=<unix_ts>', async () => {
    const query = `users?start=${MONDAY_MS}&end=${MONDAY_MS + 1}`;
    const reply = await get(`${world.url}/b/${query}`, world.keys.full);
    assertSuccess(reply);
    assert.equal(reply.text, (await get(`${world.url}/b/v1/${query}`, world.keys.full)).text);
    assert.deepEqual(outline(reply.text), ['3']);
  });

  it('4.1 the same query without /v1 is no route of Variant A', async () => {
    assertProblem(await get(`${world.url}/a/users?start=1&end=2`, world.keys.full), 404, 'not-found');
  });

  it('4.2 {base_url} alone is Variant A', async () => {
    const reply = await get(`${world.url}/v1/events/board/7`, world.keys.full);
    assert.equal(reply.text, (await get(`${world.url}/a/v1/events/board/7`, world.keys.full)).text);
  });

  it('4.2 /board/:boardId/points, literally: keyed by e-mail, with the adjustment and the award to the owner', async () => {
    const { text } = await get(`${world.url}/a/v1/board/7/points`, world.keys.full);
    assert.equal(
      text,
      '{"ada@harbor.example":{"user_id":1,"board_id":7,"email":"ada@harbor.example","total_points":9,"participation_score":45},' +
        '"mute@harbor.example":{"user_id":5,"board_id":7,"email":"mute@harbor.example","total_points":0,"participation_score":0},' +
        '"zoe@harbor.example":{"user_id":9007199254740993,"board_id":7,"email":"zoe@harbor.example","total_points":5,"participation_score":25}}',
    );
  });

  it('4.2 /user/:userId/points, literally: keyed by the user id, one record per board', async () => {
    const { text } = await get(`${world.url}/a/v1/user/1/points`, world.keys.full);
    assert.equal(
      text,
      '{"1":{"user_id":1,"board_id":7,"email":"ada@harbor.example","total_points":9,"participation_score":45},' +
        '"1:8":{"user_id":1,"board_id":8,"email":"ada@harbor.example","total_points":0,"participation_score":0}}',
    );
  });

  it('4.1 start and end: points count the awards inside the range, imported ones if it contains all events of the board', async () => {
    const within = `start=${MONDAY_MS}&end=${TUESDAY_MS}`;
    const rhetoric = await get(`${world.url}/a/v1/user/1/points?${within}`, world.keys.full);
    assert.match(
      rhetoric.text,
      /^\{"1":\{"user_id":1,"board_id":7,[^}]*"total_points":12,"participation_score":60\}/,
    );
    const imported = await get(`${world.url}/a/v1/user/7/points`, world.keys.full);
    assert.match(imported.text, /"total_points":123,"participation_score":45/);
    const ranged = await get(`${world.url}/a/v1/user/7/points?${within}`, world.keys.full);
    assert.match(ranged.text, /"total_points":0,"participation_score":0/);
    for (const whole of ['start=0', `start=${TUESDAY_MS}`, `end=${THURSDAY_MS + 1}`]) {
      const { text } = await get(`${world.url}/a/v1/user/7/points?${whole}`, world.keys.full);
      assert.equal(text, imported.text, whole);
    }
    for (const part of [`start=${TUESDAY_MS + 1}`, `end=${THURSDAY_MS}`]) {
      const { text } = await get(`${world.url}/a/v1/user/7/points?${part}`, world.keys.full);
      assert.equal(text, ranged.text, part);
    }
  });

  it('4.2 /course and /lms_user: 404 with a code of its own if the organization has not configured them', async () => {
    await world.store.createOrganization('plain', {});
    await world.load('plain', fixture.WORLD);
    const key = await world.makeKey('plain');
    for (const path of ['course/FAR', 'course/none', 'lms_user/sis_user_id/3', 'lms_user/none/3']) {
      assertProblem(await get(`${world.url}/a/v1/${path}/points`, key), 404, 'lookup-not-configured');
    }
    assertSuccess(await get(`${world.url}/a/v1/lti/lti-rhetoric/points`, key));
  });

  it('4.4.3 boards and users ascend by id, negative ids first and large ones exactly', async () => {
    await world.load('negative', {
      ...fixture.WORLD,
      users: [...fixture.WORLD.users, { id: -(2n ** 63n), email: 'least@harbor.example', name: 'Least' }],
    });
    const reply = await get(`${world.url}/a/v1/users`, await world.makeKey('negative'));
    assert.deepEqual(outline(reply.text), ['-9223372036854775808', ...USERS]);
  });
});
