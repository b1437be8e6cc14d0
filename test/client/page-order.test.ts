/** Pages without an end are refused, however a server makes them. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AnswerError, ProblemError } from '../../src/client/client.ts';
import { NO_STEP, PageOrder, stepTo } from '../../src/client/page-order.ts';
import { all, answering, errorOf, sendLines, sendRefusal } from './odd-server.ts';

/** Requests after which a short circle must have been refused. */
const MOST_REQUESTS = 40;

/** By the number of the request, from 1: the lines of the page, and the cursor of the next one. */
type Paging = (request: number) => readonly [lines: readonly string[], cursor: string];

const ERASURE = '{"forgotten":{"user":5}}';
/** More levels than `JSON.stringify` supports. */
const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

const element = (id: number) => `{"id":${id},"sync_id":"${id}"}`;

const ENDLESS: Readonly<Record<string, readonly [Paging, RegExp]>> = {
  'a page that is its own next one': [(request) => [[element(request)], 'c'], /lead in a circle/],
  'a circle of seven cursors': [(request) => [[element(request)], `c${request % 7}`], /lead in a circle/],
  'a circle after other pages': [
    (request) => [[element(request)], request < 6 ? `new ${request}` : `c${request % 2}`],
    /lead in a circle/,
  ],
  'the same page with new cursors': [(request) => [[element(1)], `c${request}`], /lead in a circle/],
  'the same erasure with new cursors': [(request) => [[ERASURE], `c${request}`], /lead in a circle/],
  'the same element with a new text': [
    (request) => [[`{"id":1,"sync_id":"1","title":"${request}"}`], `c${request}`],
    /lead in a circle/,
  ],
  'the same element, nested too deeply': [
    (request) => [[`{"id":1,"sync_id":"1","x":${DEEP}}`], `c${request}`],
    /lead in a circle/,
  ],
  'two pages in turn with new cursors': [
    (request) => [[element(request % 2)], `c${request}`],
    /lead in a circle/,
  ],
  'empty pages with new cursors': [(request) => [[], `c${request}`], /is empty and not the last one/],
};

function sendPage(response: ServerResponse, paging: Paging, request: number): void {
  const [lines, cursor] = paging(request);
  sendLines(response, lines, { 'sync-token': 't', link: `</v1?cursor=${cursor}>; rel="next"` });
}

describe('pages without an end', () => {
  for (const [what, [paging, reason]] of Object.entries(ENDLESS)) {
    it(`are refused: ${what}`, async (t) => {
      let requests = 0;
      const server = await answering(t, (response) => sendPage(response, paging, ++requests));
      for (const list of [
        server.client().boards({ pageSize: 10 }),
        server.client().sync(),
        server.client().sync({ token: 'old' }),
      ]) {
        requests = 0;
        const error = await errorOf(all<unknown>(list));
        assert.ok(error instanceof AnswerError && error.code === 'unreadable', String(error));
        assert.match(error.message, reason);
        assert.ok(requests <= MOST_REQUESTS, `${requests} requests`);
      }
    });
  }

  it('are refused beyond a number, even if all are new', () => {
    const order = new PageOrder(1_000);
    const page = (at: number) => ({ elements: [{ id: at }], cursor: `c${at}` });
    for (let at = 1; at < 1_000; at += 1) assert.equal(order.next(page(at)), `c${at}`);
    assert.throws(() => order.next(page(1_000)), /The response has more than 1,000 pages/);
  });

  it('are not those that have equal events without an identity', () => {
    const order = new PageOrder();
    for (const cursor of ['1', '2', '3', undefined]) {
      assert.equal(order.next({ elements: [{ type: 'pin' }], cursor }), cursor);
    }
    assert.equal(new PageOrder().next({ elements: [], cursor: undefined }), undefined);
  });
});

describe('the steps of a traversal', () => {
  const stepsUntilRefused = (texts: (at: number) => string, most: number) => {
    let step = NO_STEP;
    for (let at = 0; at < most; at += 1) {
      const next = stepTo(texts(at), step);
      if (next === undefined) return at;
      step = next;
    }
    return undefined;
  };

  it('end in every circle, soon after it closes, and in nothing else', () => {
    const property = fc.property(fc.nat(40), fc.integer({ min: 1, max: 40 }), (before, length) => {
      const textAt = (at: number) => String(at < before ? at : before + ((at - before) % length));
      const ended = stepsUntilRefused(textAt, 1_000) ?? assert.fail('endless');
      assert.ok(ended >= before + length, 'not before a text is repeated');
      assert.ok(ended <= 4 * (before + length), `${ended}`);
    });
    fc.assert(property);
    assert.equal(stepsUntilRefused(String, 5_000), undefined);
  });
});

describe('a server that refuses every cursor', () => {
  for (const code of ['cursor-scope-changed', 'since-invalid']) {
    it(`is not asked again without an end (${code})`, async (t) => {
      const server = await answering(t, (response, { url = '' }) =>
        code === 'since-invalid' || url.includes('cursor=')
          ? sendRefusal(response, 400, code)
          : sendPage(response, (request) => [[element(request)], 'c'], 1),
      );
      const error = await errorOf(all(server.client().sync({ token: 'old' })));
      assert.ok(error instanceof ProblemError && error.code === code, String(error));
      assert.ok(server.asked.length <= 8, `${server.asked.length} requests`);
    });
  }
});

it('elements that are no changes are refused', async (t) => {
  for (const line of [
    ...['5', 'null', '"x"', '[]', '{}', '{"sync_id":{}}', '{"deleted":true}'],
    ...['{"forgotten":null}', '{"forgotten":{}}', '{"forgotten":{"user":{}}}'],
  ]) {
    const server = await answering(t, (response) => sendLines(response, [line], { 'sync-token': 't' }));
    const error = await errorOf(all(server.client().sync()));
    assert.ok(error instanceof AnswerError && error.code === 'unreadable', String(error));
    assert.match(error.message, /The response has no changes/);
  }
});
