/** Insights of the fixture; `test/properties/insights.test.ts` checks those of random data. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Dataset } from '../../../src/dataset/dataset.ts';
import { NO_REDACTION, REDACTABLE } from '../../../src/domain/redaction.ts';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import { measureParticipation } from '../../../src/insights/participation.ts';
import { explainLedger } from '../../../src/points/explanation.ts';
import { DEFAULT_POLICY, policyOf, readPolicy } from '../../../src/points/policy.ts';
import { publishRecords } from '../../dataset/small-world.ts';
import { assertProblem, assertSuccess, get, type Reply } from '../../model/client.ts';
import { ADA, EMPTY, openWorld, RHETORIC, STARS, type World, ZOE } from '../../world.ts';

interface Named {
  readonly action: string;
  readonly actor: { readonly id: number };
}

const BASE = '/insights/v1';
const ROUTES = [
  ...['/events', '/events?format=csv', '/events?action=created'],
  ...['/overview', '/activity?interval=month', '/activity?interval=month&by=board'],
  ...['/points', '/points?format=csv', '/points?limit=2'],
  ...['/activity?interval=month&by=role', '/returning?interval=month', '/heat-map', '/boards', '/users'],
];
const OF_BOARD = ['participation', 'attention', 'pins', 'interactions', `users/${ADA}/ledger`];

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.close());

async function ask(path: string, key = world.keys.full): Promise<Reply> {
  return await get(world.url + BASE + path, key);
}

async function load(path: string, key?: string): Promise<Record<string, unknown>> {
  const reply = await ask(path, key);
  assertSuccess(reply);
  return JSON.parse(reply.text);
}

describe('periods at the ends of the years 1 to 9999', () => {
  it('have bounds within these years', async () => {
    const bounds = async (query: string) => {
      const { periods, end } = await load(`/activity?${query}`);
      return [periods, end];
    };
    assert.deepEqual(await bounds('start=253402300799998&end=253402300799999'), [
      ['9999-12-31T00:00:00.000+00:00'],
      '9999-12-31T23:59:59.999+00:00',
    ]);
    const first = 'start=0001-01-01T00:00:00Z&end=0001-01-01T00:00:01Z';
    for (const interval of ['month', 'quarter', 'year']) {
      assert.deepEqual(await bounds(`${first}&interval=${interval}&zone=America/New_York`), [
        ['0001-01-01T00:00:00.000+00:00'],
        '0001-01-01T04:56:02.000+00:00',
      ]);
    }
    assert.deepEqual(await bounds('start=253402300799998&end=253402300799999&interval=year'), [
      ['9999-01-01T00:00:00.000+00:00'],
      '9999-12-31T23:59:59.999+00:00',
    ]);
  });
});

describe('the overview with the range before', () => {
  const MARCH = 'start=2018-03-13T00:00:00Z&end=2018-03-14T00:00:00Z';

  it('has its bounds and the figures of a request for it, and is otherwise the same', async () => {
    const { previous, ...figures } = await load(`/overview?${MARCH}&compare=previous`);
    assert.deepEqual(figures, await load(`/overview?${MARCH}`));
    const day = await load('/overview?start=2018-03-12T00:00:00Z&end=2018-03-13T00:00:00Z');
    const { organization, board, user, ...before } = day;
    assert.equal(before['events'], 3);
    assert.deepEqual(previous, {
      ...{ start: '2018-03-12T00:00:00.000+00:00', end: '2018-03-13T00:00:00.000+00:00' },
      ...before,
    });
  });

  it('has an entity tag of its own', async () => {
    const tagOf = async (path: string) => (await ask(path)).headers.get('etag');
    const tags = [await tagOf(`/overview?${MARCH}`), await tagOf(`/overview?${MARCH}&compare=previous`)];
    assert.equal(new Set(tags).size, 2);
  });

  it('starts at the earliest at the start of the year 1, and is empty if the range is', async () => {
    const previousOf = async (query: string) =>
      (await load(`/overview?${query}&compare=previous`))['previous'];
    const none = { events: 0, people: 0, boards: 0, pins: 0, actions: [], first: null, last: null };
    assert.deepEqual(await previousOf('start=0001-01-02T00:00:00Z&end=9999-01-01T00:00:00Z'), {
      ...{ start: '0001-01-01T00:00:00.000+00:00', end: '0001-01-02T00:00:00.000+00:00' },
      ...none,
    });
    assert.deepEqual(await previousOf('start=2018-03-13T00:00:00Z&end=2018-03-13T00:00:00Z'), {
      ...{ start: '2018-03-13T00:00:00.000+00:00', end: '2018-03-13T00:00:00.000+00:00' },
      ...none,
    });
  });

  it('counts only what the key sees', async () => {
    const range = 'start=2018-03-15T00:00:00Z&end=2018-03-18T00:00:00Z&compare=previous';
    const full = (await load(`/overview?${range}`))['previous'] as { events: number };
    const boards = (await load(`/overview?${range}`, world.keys.boards))['previous'] as { events: number };
    assert.deepEqual([full.events, boards.events], [8, 5]);
  });
});

describe('activity as CSV', () => {
  it('is refused if the names of its series make it too large, and not as JSON', async () => {
    const title = 'x'.repeat(60_000);
    const hourMs = 3_600_000;
    const { store, makeKey } = world;
    await store.createOrganization('long-names', {});
    await publishRecords(store, 'long-names', {
      users: [{ id: 1n, email: 'one@x.example' }],
      boards: [{ id: 1n, title }],
      events: [0, 3_000 * hourMs].map((timestampMs) => ({
        ...{ type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 1n, timestampMs },
      })),
    });
    const key = await makeKey('long-names');
    const path = '/activity?interval=hour&by=board';
    assertProblem(await ask(`${path}&format=csv`, key), 400, 'range-too-fine');
    assertSuccess(await ask(path, key));
    assertSuccess(await ask(`${path}&format=csv&end=1970-01-05T00:00:00Z`, key), 'text/csv');
  });
});

describe('participation on a board', () => {
  it('is computed from the points totals of the points routes', async () => {
    const points = await get(`${world.url}/a/v1/board/${RHETORIC}/points`, world.keys.full);
    const records: { total_points: number }[] = Object.values(JSON.parse(points.text));
    const totals = records.map((record) => record.total_points).sort((one, other) => one - other);
    assert.deepEqual(totals, [0, 5, 9]);
    const { at_risk, board, ...figures } = await load(`/boards/${RHETORIC}/participation`);
    assert.deepEqual(board, { id: Number(RHETORIC), title: 'Rhetoric', category: 'Communications' });
    assert.deepEqual(figures, {
      ...{ goal: 20, window_start: null, window_end: null, at: '2018-03-14T10:00:00.001+00:00' },
      ...{ people: 3, reached: 0, under_way: 2, not_started: 1, median_points: 5 },
      ...{ distribution: [1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0], elapsed: null, pace_points: null },
      at_risk_people: 3,
    });
    assert.deepEqual(
      (at_risk as { user: { name: string }; total_points: number }[]).map((one) => [
        one.user.name,
        one.total_points,
      ]),
      [
        ['Mute Member', 0],
        ['Zoë Ångström 🙂', 5],
        ['Ada Lovelace', 9],
      ],
    );
  });

  const measure = async (totals: readonly number[], atMs: number) => {
    const standings = async () => ({
      count: totals.length,
      user: Int32Array.from(totals.keys()),
      board: new Int32Array(totals.length),
      totalPoints: Float64Array.from(totals),
      participationScore: Float64Array.from(totals),
    });
    const window = { fromMs: 1000, untilMs: 2000 };
    const dataset = { standings } as unknown as Dataset;
    const policy = { ...DEFAULT_POLICY.default, window };
    return await measureParticipation(dataset, FULL_SCOPE, 0, policy, { atMs, most: 2 });
  };

  it('is compared with the elapsed part of the window', async () => {
    const { elapsed, pacePoints, atRisk, atRiskCount, reached } = await measure([24, 25, 3, 100, 0], 1250);
    assert.deepEqual([elapsed, pacePoints, atRiskCount, reached], [0.25, 25, 3, 1]);
    assert.deepEqual(
      atRisk.map(({ user }) => user),
      [4, 2],
    );
    assert.deepEqual([(await measure([0], 1)).elapsed, (await measure([0], 9999)).elapsed], [0, 1]);
  });

  it('has no users at risk before the window begins, and only zeros without users', async () => {
    assert.equal((await measure([0, 5], 1000)).atRiskCount, 0);
    const { people, medianPoints, distribution } = await measure([], 1500);
    assert.deepEqual([people, medianPoints, Math.max(...distribution)], [0, 0, 0]);
  });
});

describe('who needs attention on a board', () => {
  /** Ada, Mute and Zoë are on the board with 9, 0 and 5 points. */
  const MONDAY_MS = Date.parse('2018-03-12T17:00:45.567Z');

  const listed = async (query: string) => {
    const { attention } = await load(`/boards/${RHETORIC}/attention?${query}`);
    return (attention as { user: { name: string }; last: string | null; inactive: boolean }[]).map(
      ({ user, last, inactive }) => [user.name.split(' ')[0], last === null, inactive],
    );
  };
  const mute = ['Mute', true, true];

  it('is who has been inactive for exactly that many days, or never acted', async () => {
    assert.deepEqual(await listed(''), [mute]);
    assert.deepEqual(await listed(`days=1&at=${MONDAY_MS + 86_399_999}`), [mute]);
    const both = [mute, ['Ada', false, true], ['Zoë', false, true]];
    assert.deepEqual(await listed(`days=1&at=${MONDAY_MS + 86_400_000}`), both);
    assert.deepEqual(await listed(`days=1&at=${MONDAY_MS + 86_400_000}&top=2`), both.slice(0, 2));
  });

  it('ignores events after the instant', async () => {
    assert.deepEqual(await listed(`at=${MONDAY_MS}`), [mute]);
    assert.deepEqual(await listed(`at=${MONDAY_MS - 1}`), [mute, ['Zoë', true, true], ['Ada', true, true]]);
  });

  it('says how many there are, and the median with which points are compared', async () => {
    const { attention: _, board: __, ...whole } = await load(`/boards/${RHETORIC}/attention?top=1`);
    assert.deepEqual(whole, {
      ...{ at: '2018-03-14T10:00:00.001+00:00', days: 14, people: 3, median_points: 5 },
      ...{ inactive_people: 1, behind_people: 1, attention_people: 1 },
    });
    const empty = await load(`/boards/${EMPTY}/attention`);
    assert.deepEqual([empty['at'], empty['people'], empty['attention']], [null, 0, []]);
  });
});

describe('the ledger', () => {
  it('has the lines of `corkboard points explain`', async () => {
    const dataset = await world.store.openDataset('harbor');
    assert.ok(dataset);
    const board = await dataset.findBoard(FULL_SCOPE, { by: 'id', value: RHETORIC });
    const user = await dataset.findUser(FULL_SCOPE, { by: 'id', value: ADA });
    const ledger = await dataset.ledger({ scope: FULL_SCOPE, board: board!, user: user! });
    const explained = explainLedger(ledger, policyOf(readPolicy(dataset.policy), RHETORIC));
    await dataset.close();
    const answer = await load(`/boards/${RHETORIC}/users/${ADA}/ledger`);
    const lines = answer['lines'] as Record<string, unknown>[];
    assert.equal(lines.length, 3);
    assert.deepEqual(
      lines.map(({ running_total, ...line }) => ({ ...line, runningTotal: running_total })),
      explained.lines,
    );
    assert.deepEqual(answer['summary'], explained.summary);
    assert.deepEqual(answer['standing'], { total_points: 9, participation_score: 45 });
  });

  it('sums up activity outside the scope in one line without a time', async () => {
    const path = `/boards/${RHETORIC}/users/${ADA}/ledger`;
    assert.match((await ask(path)).text, new RegExp(`pin.commented on pin 100 by user ${ZOE}`));
    const { text } = await ask(path, world.keys.users);
    assert.doesNotMatch(text, new RegExp(`commented|${ZOE}`));
    const { lines, counted_points, standing } = JSON.parse(text);
    assert.deepEqual(
      lines.map((line: Record<string, unknown>) => [line['timestamp'] === null, line['running_total']]),
      [
        [false, 10],
        [false, 7],
        [true, 9],
      ],
    );
    assert.deepEqual([counted_points, standing.total_points], [12, 9]);
  });
});

describe('the reason of an adjustment by hand', () => {
  const path = `/boards/${RHETORIC}/users/${ADA}/ledger`;

  it('is shown to keys that redact nothing, and to no others', async () => {
    const { text } = await ask(path);
    assert.match(text, /"late work"/);
    // With pseudonymous ids the path differs: see test/contract/redacted-ids.test.ts.
    for (const field of REDACTABLE.filter((name) => name !== 'id')) {
      const key = await world.makeKey('harbor', { redact: { ...NO_REDACTION, [field]: true } });
      const redacted = await load(path, key);
      const lines = redacted['lines'] as { what: string; reason: string }[];
      const reasons = lines.flatMap(({ what, reason }) => (what === 'adjustment by hand' ? [reason] : []));
      assert.deepEqual(reasons, ['adjustment by hand']);
      assert.doesNotMatch(JSON.stringify(redacted), /late work/);
    }
  });
});

describe('data outside the scope of a key', () => {
  const paths = [...ROUTES, ...OF_BOARD.map((path) => `/boards/${RHETORIC}/${path}`)];

  it('is in no response to a key for some boards', async () => {
    const texts = await Promise.all(paths.map(async (path) => (await ask(path, world.keys.boards)).text));
    for (const text of texts) assert.doesNotMatch(text, /Stars|"Far"|Eve|Pat Imported|badge|visited/);
    assert.ok(texts.some((text) => text.includes('Zoë')));
  });

  it('is in no response to a key for some users', async () => {
    for (const path of paths) {
      assert.doesNotMatch((await ask(path, world.keys.users)).text, /Zoë|Olive|Mute|Pat Imported/, path);
    }
  });

  it('is in no response to a redacting key', async () => {
    const key = await world.makeKey('harbor', { redact: { email: true, name: true, id: false } });
    for (const path of paths) {
      assert.doesNotMatch((await ask(path, key)).text, /Ada|Zoë|Bob|Olive|Mute|@harbor\.example/, path);
    }
    assert.match((await ask('/users', key)).text, /@redacted\.invalid/);
  });

  it('is 404 like missing data, in paths and in filters', async () => {
    for (const path of [...OF_BOARD.map((one) => `/boards/${STARS}/${one}`), `/overview?board=${STARS}`]) {
      assertProblem(await ask(path, world.keys.boards), 404, 'not-found');
    }
    assertProblem(await ask(`/overview?user=${ZOE}`, world.keys.users), 404, 'not-found');
    assertProblem(await ask(`/boards/${RHETORIC}/users/${ZOE}/ledger`, world.keys.users), 404, 'not-found');
    assertProblem(await ask('/overview?board=404'), 404, 'not-found');
    assertProblem(await ask(`/points?board=${STARS}`, world.keys.boards), 404, 'not-found');
    assertProblem(await ask(`/points?user=${ZOE}`, world.keys.users), 404, 'not-found');
  });
});

describe('the events of the insights', () => {
  it('are byte for byte those of the variants, in every format, and can be filtered by board, user and action', async () => {
    for (const format of ['json', 'ndjson', 'csv']) {
      const all = await get(`${world.url}/a/v1/events?format=${format}`, world.keys.full);
      assert.equal((await ask(`/events?format=${format}`)).text, all.text);
      const ofBoard = await get(
        `${world.url}/a/v1/events/board/${RHETORIC}?format=${format}`,
        world.keys.full,
      );
      assert.equal((await ask(`/events?board=${RHETORIC}&format=${format}`)).text, ofBoard.text);
    }
    const all: Named[] = JSON.parse((await ask('/events')).text);
    const narrowed: Named[] = JSON.parse((await ask(`/events?user=${ADA}&action=created`)).text);
    assert.ok(narrowed.length > 0);
    assert.deepEqual(
      narrowed,
      all.filter(({ actor, action }) => actor.id === Number(ADA) && action === 'created'),
    );
  });

  it('have pages, whose cursors belong to their filter', async () => {
    const all: Named[] = JSON.parse((await ask(`/events?board=${RHETORIC}`)).text);
    const walked: Named[] = [];
    let path: string | undefined = `/events?board=${RHETORIC}&limit=2`;
    let cursor = '';
    while (path !== undefined) {
      const page: Reply = await ask(path);
      walked.push(...JSON.parse(page.text));
      const next = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
      path = next?.slice(BASE.length);
      cursor = next === undefined ? cursor : (new URL(next, world.url).searchParams.get('cursor') ?? '');
    }
    assert.deepEqual(walked, all);
    assertProblem(await ask(`/events?action=created&limit=2&cursor=${cursor}`), 400, 'cursor-malformed');
  });
});

describe('requests for insights', () => {
  it('have empty results for a board without events', async () => {
    const overview = await load(`/overview?board=${EMPTY}`);
    assert.deepEqual([overview['events'], overview['first'], overview['actions']], [0, null, []]);
    const activity = await load(`/activity?board=${EMPTY}&by=action`);
    assert.deepEqual([activity['periods'], activity['end'], activity['series']], [[], null, []]);
  });

  it('are refused with a remedy if they are malformed', async () => {
    for (const [path, code] of [
      ['/points?action=visited', 'parameter-unknown'],
      [`/boards/${RHETORIC}/attention?days=0`, 'parameter-malformed'],
      ['/points?limit=0', 'parameter-malformed'],
      ['/points?excel=1', 'parameter-malformed'],
      ['/points?start=2&end=1', 'range-reversed'],
      ['/activity?zone=Nowhere/Land', 'parameter-malformed'],
      ['/activity?zone=%2B01:00', 'parameter-malformed'],
      ['/activity?interval=decade', 'parameter-malformed'],
      ['/activity?top=0', 'parameter-malformed'],
      ['/activity?board=x', 'parameter-malformed'],
      ['/overview?interval=day', 'parameter-unknown'],
      ['/overview?compare=next&start=1&end=2', 'parameter-malformed'],
      ['/overview?compare=previous', 'parameter-malformed'],
      ['/overview?compare=previous&start=1', 'parameter-malformed'],
      ['/overview?compare=previous&end=1', 'parameter-malformed'],
      ['/overview?compare=previous&start=2&end=1', 'range-reversed'],
      ['/activity?compare=previous&start=1&end=2', 'parameter-unknown'],
      ['/activity?interval=hour', 'range-too-fine'],
      ['/boards/x/participation', 'identifier-malformed'],
    ] as const) {
      assertProblem(await ask(path), 400, code);
    }
    assertProblem(await get(`${world.url}${BASE}/overview`, undefined), 401, 'key-missing');
  });

  it('have a different entity tag each, and the same one when repeated', async () => {
    const range = 'start=2018-03-01T00:00:00Z&end=2018-04-01T00:00:00Z';
    const more = ['', 'zone=Europe/Vienna', 'interval=week', 'by=action', 'by=type', 'by=board&top=1'];
    const filters = [`board=${RHETORIC}`, `user=${ADA}`, 'action=visited'];
    const tags = new Set<string | null>();
    for (const query of [...more, ...filters]) {
      const path = `/activity?${range}&${query}`.replace(/&$/, '');
      const etag = (await ask(path)).headers.get('etag');
      tags.add(etag);
      const again = await get(world.url + BASE + path, world.keys.full, { 'if-none-match': etag ?? '' });
      assert.equal(again.status, 304);
    }
    assert.equal(tags.size, more.length + filters.length);
  });
});

it('the document of the insights requires no key and lists every route', async () => {
  const reply = await get(`${world.url}${BASE}/openapi.json`, undefined);
  assert.equal(reply.status, 200);
  assert.deepEqual(Object.keys(JSON.parse(reply.text).paths).sort(), [
    ...[
      '/v1/activity',
      '/v1/boards',
      '/v1/boards/{board-id}/attention',
      '/v1/boards/{board-id}/gradebook',
      '/v1/boards/{board-id}/interactions',
    ],
    ...['/v1/boards/{board-id}/participation', '/v1/boards/{board-id}/pins'],
    ...[
      '/v1/boards/{board-id}/users/{user-id}/ledger',
      '/v1/events',
      '/v1/heat-map',
      '/v1/overview',
      '/v1/points',
      '/v1/returning',
      '/v1/users',
      '/v1/zone',
    ],
  ]);
});
