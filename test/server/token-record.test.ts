/** The sync token as the last item of a change set (decision 99), over real sockets. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openStand, type Stand } from './stand.ts';

const LISTS = ['/a/v1/events', '/a/v1/events/pins', '/b/v1/events', '/b/v1/pins'];

const itemOf = (response: Response) => `{"sync_token":"${response.headers.get('sync-token')}"}`;

describe('a change set with the sync token as a record', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand({ logLevel: 'silent' });
  });
  after(() => stand.close());

  it('has one more item than without, and the same headers but for length and tag', async () => {
    for (const path of LISTS) {
      const [plain, recorded] = [
        await ask(`${path}?since=start`),
        await ask(`${path}?since=start&token=record`),
      ];
      assert.equal(recorded.text, plain.text.replace(/\]$/, `,${itemOf(plain.response)}]`));
      const headersOf = ({ headers }: Response) =>
        [...headers].filter(
          ([name]) => !/^(content-length|etag|date|x-request-id|server-timing)$/.test(name),
        );
      assert.deepEqual(headersOf(recorded.response), headersOf(plain.response));
      assert.notEqual(recorded.response.headers.get('etag'), plain.response.headers.get('etag'));
      assert.equal(recorded.response.headers.get('content-length'), String(Buffer.byteLength(recorded.text)));
      const lines = await ask(`${path}?since=start&token=record&format=ndjson`);
      const plainLines = await ask(`${path}?since=start&format=ndjson`);
      assert.equal(lines.text, `${plainLines.text}${itemOf(lines.response)}\n`);
    }
  });

  it('contains only the token if nothing has changed', async () => {
    for (const path of LISTS) {
      const { response: held } = await ask(path);
      const since = `${path}?since=${held.headers.get('sync-token')}&token=record`;
      assert.equal((await ask(since)).text, `[${itemOf(held)}]`);
      assert.equal((await ask(`${since}&format=ndjson`)).text, `${itemOf(held)}\n`);
      assert.equal((await ask(`${since}&limit=1`)).text, `[${itemOf(held)}]`);
    }
  });

  it('has the token on the last page only, and the links lead there', async () => {
    const whole: unknown[] = JSON.parse((await ask('/a/v1/events?since=start&token=record')).text);
    const items: unknown[] = [];
    let next: string | undefined = '/a/v1/events?since=start&token=record&limit=2';
    let pages = 0;
    while (next !== undefined) {
      const { response, text }: Answered = await ask(next);
      next = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
      assert.equal(text.includes('"sync_token"'), next === undefined);
      items.push(...JSON.parse(text));
      pages += 1;
    }
    assert.ok(pages > 1);
    assert.deepEqual(items, whole);
  });

  it('is revalidated, sent in part and compressed like any other response', async () => {
    const path = '/a/v1/events?since=start&token=record';
    const { response, text } = await ask(path);
    const etag = response.headers.get('etag') ?? '';
    assert.equal((await stand.get(path, { 'if-none-match': etag })).status, 304);
    const end = await stand.get(path, { range: 'bytes=-20', 'if-range': etag });
    assert.deepEqual([end.status, await end.text()], [206, text.slice(-20)]);
    const head = await stand.get(path, {}, 'HEAD');
    assert.equal(head.headers.get('content-length'), response.headers.get('content-length'));
    const packed = await stand.get(path, { 'accept-encoding': 'gzip' });
    assert.equal(packed.headers.get('content-encoding'), 'gzip');
    assert.notEqual(packed.headers.get('etag'), etag);
    // `fetch` decompresses it.
    assert.equal(await packed.text(), text);
  });

  it('requires since, and is refused for streams, tables and other lists', async () => {
    const stream = { accept: 'text/event-stream' };
    for (const [path, headers, status, pattern] of [
      ['/a/v1/events?token=record', {}, 400, /Send \\"since=start\\"/],
      ['/a/v1/events?since=start&token=header', {}, 400, /the word record/],
      ['/a/v1/events?since=start&token=record', stream, 400, /Leave out \\"token\\"/],
      ['/a/v1/events?since=start&token=record&format=csv', {}, 406, /not-acceptable/],
      ['/a/v1/boards?token=record', {}, 400, /parameter-unknown/],
    ] as const) {
      const response = await stand.get(path, headers);
      assert.equal(response.status, status, path);
      assert.match(await response.text(), pattern);
    }
  });

  interface Answered {
    readonly response: Response;
    readonly text: string;
  }

  async function ask(path: string): Promise<Answered> {
    const response = await stand.get(path);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return { response, text };
  }
});
