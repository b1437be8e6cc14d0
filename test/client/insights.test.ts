/** The insights client: numbers of a real server with exact ids, and the requests that it sends. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type InsightsClient, openClient, ProblemError } from '../../src/client/client.ts';
import { type Followed, idOf } from './followed.ts';
import { openProduct } from './followed-product.ts';
import { all, answering, errorOf, KEY } from './odd-server.ts';

describe('the methods of the insights client', () => {
  let followed: Followed;
  let client: InsightsClient;
  before(async () => {
    followed = await openProduct();
    await followed.add({ actor: 1, owner: 2, board: 7 }, { actor: 1, owner: 1, board: 8 });
    const baseUrl = followed.baseUrl.replace(/\/a$/, '/insights');
    client = openClient({ baseUrl, key: followed.key, variant: 'insights' });
  });
  after(() => followed.close());

  it('return numbers with exact ids', async () => {
    const { events, user } = await client.overview({ user: idOf(1) });
    assert.deepEqual([events, user?.id], [2, String(idOf(1))]);
    const { edges } = await client.interactions({ board: 7 });
    assert.deepEqual(edges, [{ actor: String(idOf(1)), owner: String(idOf(2)), events: 1 }]);
    const ledger = await client.ledger({ board: 7n, user: idOf(1) });
    assert.equal(ledger.user.id, String(idOf(1)));
  });

  it('return events as one list and in pages', async () => {
    const events = await all(client.events({ action: 'visited' }));
    assert.equal(events.length, 2);
    assert.deepEqual(await all(client.events({ action: 'visited', pageSize: 1 })), events);
    assert.deepEqual(
      (await all(client.events({ board: 8 }))).map(({ board }) => board.id),
      ['8'],
    );
  });

  it('return points as one list and in pages', async () => {
    const points = await all(client.points());
    assert.deepEqual(
      points.map(({ user_id, board_id }) => [user_id, board_id]),
      [
        [String(idOf(1)), '7'],
        [String(idOf(1)), '8'],
      ],
    );
    assert.deepEqual(await all(client.points({ pageSize: 1 })), points);
    assert.deepEqual(await all(client.points({ board: 8, user: idOf(1) })), points.slice(1));
  });

  it('return a gradebook as text', async () => {
    const text = await client.gradebook({ board: 7, for: 'moodle', column: 'Week 1', value: 'points' });
    assert.match(text, /^"Email address","Week 1"\r\n("[^"]+@[^"]+","\d+"\r\n)+$/);
    const error = await errorOf(client.gradebook({ board: 7, id: 'sis' }));
    assert.ok(error instanceof ProblemError);
    assert.equal(error.code, 'lms-ids-not-allowed');
  });

  it('throw refusals of the server', async () => {
    const error = await errorOf(client.participation({ board: 404 }));
    assert.ok(error instanceof ProblemError);
    assert.deepEqual([error.status, error.code], [404, 'not-found']);
    assert.equal(error.message, `${error.detail} (404 not-found)`);
  });
});

describe('a request of the insights client', () => {
  it('has path and query parameters, with times in ISO 8601 and without undefined values', async (t) => {
    const server = await answering(t, (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    );
    const client = openClient({ baseUrl: `${server.url}/insights`, key: KEY, variant: 'insights' });
    const start = new Date(0);
    await client.activity({ start, end: undefined, board: 7, interval: 'week', zone: 'Europe/Vienna' });
    await client.rankPins({ board: '7', user: 12n, top: 10 });
    assert.deepEqual(server.asked, [
      '/insights/v1/activity?start=1970-01-01T00%3A00%3A00.000Z&board=7&interval=week&zone=Europe%2FVienna',
      '/insights/v1/boards/7/pins?user=12&top=10',
    ]);
    await assert.rejects(client.overview({ board: 2 ** 60 }), TypeError);
    assert.throws(
      () => openClient({ baseUrl: `${server.url}/b`, key: KEY, variant: 'insights' }),
      /ends in \/b/,
    );
  });
});
