/** Live streams of the client, from the product and from a server that breaks them. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { openClient, type SyncBatch, type VariantA } from '../../src/client/client.ts';
import { BOARDS, type Followed, idOf, timestampOf, USERS } from './followed.ts';
import { openProduct } from './followed-product.ts';
import { answering, errorOf, KEY, sendRefusal } from './odd-server.ts';

type Batch = SyncBatch<VariantA.Event>;
const [BOARD, OTHER_BOARD] = BOARDS;
const [ACTOR, OTHER] = USERS;

async function take(batches: AsyncGenerator<Batch>): Promise<Batch> {
  const { done, value } = await batches.next();
  assert.ok(!done);
  return value;
}

function actors({ events }: Batch): readonly string[] {
  return events.map(({ actor }) => actor.id);
}

describe('a live stream of the product', () => {
  let followed: Followed;
  before(async () => {
    followed = await openProduct();
    await followed.add({ actor: ACTOR, owner: ACTOR, board: BOARD });
  });
  after(() => followed.close());
  const open = () => openClient({ baseUrl: followed.baseUrl, key: followed.key, variant: 'a' });

  it('starts at the present, sends what is published, and continues from a token', async () => {
    const stream = open().live();
    const first = await take(stream);
    assert.deepEqual([first.startsAnew, first.events, first.forgotten], [false, [], []]);
    await followed.add({ actor: OTHER, owner: ACTOR, board: BOARD });
    const told = await take(stream);
    assert.deepEqual([actors(told), told.startsAnew], [[String(idOf(OTHER))], false]);
    await stream.return();
    const again = open().live({ token: first.token });
    const { events, token } = await take(again);
    assert.deepEqual(events, told.events, 'with their sync_id');
    assert.equal(token, told.token);
    await again.return();
  });

  it('names deleted events', async () => {
    const whole = open().live({ token: 'start' });
    const { events } = await take(whole);
    const stream = open().live();
    await take(stream);
    await followed.delete(1);
    const { deleted } = await take(stream);
    assert.deepEqual(deleted, [events.find(({ timestamp }) => timestamp === timestampOf(1))?.sync_id]);
    await whole.return();
    await stream.return();
  });

  it('sends everything from the start, for one board', async () => {
    await followed.add({ actor: OTHER, owner: ACTOR, board: OTHER_BOARD });
    const stream = open().live({ token: 'start', of: { board: OTHER_BOARD } });
    const { startsAnew, events, token } = await take(stream);
    assert.deepEqual([startsAnew, events.map(({ board }) => board.id)], [true, [String(OTHER_BOARD)]]);
    await stream.return();
    const synced: Batch[] = [];
    for await (const batch of open().sync({ token, of: { board: OTHER_BOARD } })) synced.push(batch);
    assert.deepEqual(synced, [], 'the token is one of sync, too');
  });

  it('starts over if its token is no longer valid, and names erased users', async () => {
    const stream = open().live();
    const { token } = await take(stream);
    await followed.forget(ACTOR);
    const erased = await take(stream);
    assert.deepEqual(erased.forgotten, [String(idOf(ACTOR))]);
    await stream.return();
    await followed.invalidateTokens();
    const again = open().live({ token });
    assert.deepEqual(
      actors(await take(again)),
      [OTHER, OTHER].map((user) => String(idOf(user))),
    );
    await again.return();
  });

  it('ends with the reason of its abort signal', async () => {
    const controller = new AbortController();
    const stream = open().live({ signal: controller.signal });
    await take(stream);
    const next = errorOf(stream.next());
    controller.abort(new Error('enough'));
    assert.match(String(await next), /enough/);
  });
});

/** A stream message with one event. */
function told(number: number): string {
  return `data: {"actor":{"id":${number}},"sync_id":"s${number}"}\n\n`;
}

function synced(token: string): string {
  return `event: synced\nid: ${token}\ndata: {"sync_token":"${token}"}\n\n`;
}

describe('a live stream that breaks', () => {
  const begin = (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response;
  };
  const sinceOf = (path: string) => new URL(path, 'http://x').searchParams.get('since');

  it('resumes after the last token, and delivers later events once', async (t) => {
    const server = await answering(t, (response) => {
      const number = server.asked.length;
      begin(response);
      if (number === 1) return response.write(`${synced('one')}:\n\n`, () => response.end());
      if (number === 2) return response.write(told(5), () => response.socket?.destroy());
      return response.write(told(5) + told(6) + synced('two'));
    });
    const retried: string[] = [];
    const retry = {
      firstPauseMs: 1,
      onRetry: ({ error }: { error: { code: string } }) => retried.push(error.code),
    };
    const stream = server.client(retry).live();
    assert.equal((await take(stream)).token, 'one');
    const second = await take(stream);
    assert.deepEqual([actors(second), second.token], [['5', '6'], 'two']);
    assert.deepEqual(server.asked.map(sinceOf), [null, 'one', 'one']);
    assert.deepEqual(retried, ['cut-short'], 'an orderly end is no error');
    await stream.return();
  });

  it('delivers many events in batches, the last of which has the token', async (t) => {
    const server = await answering(t, (response) =>
      begin(response).write(
        Array.from({ length: 2_500 }, (_, number) => told(number)).join('') + synced('all'),
      ),
    );
    const stream = server.client().live({ token: 'start' });
    const batches = [await take(stream), await take(stream), await take(stream)];
    await stream.return();
    assert.deepEqual(
      batches.map(({ startsAnew, events, token }) => [startsAnew, events.length, token]),
      [
        [true, 1_000, undefined],
        [false, 1_000, undefined],
        [false, 500, 'all'],
      ],
    );
  });

  it('throws a permanent refusal, without the key', async (t) => {
    const server = await answering(t, (response) => sendRefusal(response, 400, 'since-invalid'));
    const error = await errorOf(server.client().live({ token: 'old' }).next());
    assert.deepEqual(server.asked.map(sinceOf), ['old', 'start'], 'not without an end');
    assert.match(String(error), /since-invalid/);
    assert.doesNotMatch(String(error), new RegExp(KEY));
  });
});
