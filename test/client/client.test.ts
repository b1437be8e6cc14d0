import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { type ClientA, type ClientB, openClient, ProblemError } from '../../src/client/client.ts';
import type { TimeRange } from '../../src/dataset/query.ts';
import { IS_LONG } from '../long.ts';
import { answerTo, type ParsedRequest, type Variant } from '../model/answers.ts';
import { type Json, renderJson } from '../model/json.ts';
import {
  FAR,
  openWorld,
  RHETORIC,
  WORLD_MODEL,
  WORLD_QUESTIONS,
  WORLD_SCOPES,
  type World,
  ZOE,
} from '../world.ts';
import { all, errorOf } from './odd-server.ts';

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.close());

function clientA(key = world.keys.full): ClientA {
  return openClient({ baseUrl: `${world.url}/a`, key, variant: 'a', retry: { retries: 0 } });
}

function clientB(key = world.keys.full): ClientB {
  return openClient({ baseUrl: `${world.url}/b/`, key, variant: 'b', retry: { retries: 0 } });
}

const RANGES: readonly TimeRange[] = [
  {},
  { startMs: Date.UTC(2018, 2, 13) },
  // An instant that would be read as seconds if it were sent as a number.
  { startMs: Date.UTC(1970, 5, 1), endMs: Date.UTC(2018, 2, 14) },
];

/**
 * As many as there are variants with scopes, so that with one of them for each question and test,
 * each question has them all.
 */
const WISHES = RANGES.flatMap((range) => [undefined, 2].map((pageSize) => ({ range, pageSize })));

describe('the client returns the results of the model', () => {
  for (const variant of ['a', 'b'] as const) {
    for (const [scopeAt, scope] of (['full', 'boards', 'users'] as const).entries()) {
      const turn = scopeAt + (variant === 'a' ? 0 : 3);
      it(`in Variant ${variant.toUpperCase()}, with a key of scope "${scope}"`, async () => {
        const client = variant === 'a' ? clientA(world.keys[scope]) : clientB(world.keys[scope]);
        for (const [at, question] of WORLD_QUESTIONS.entries()) {
          for (const { range, pageSize } of IS_LONG ? WISHES : [WISHES[(at + turn) % WISHES.length]!]) {
            const answer = await answerOf(client, question, range, pageSize);
            if (answer === undefined) continue;
            const expected = answerTo(WORLD_MODEL, WORLD_SCOPES[scope], variant, question, range);
            assert.deepEqual(answer, asClient(expected), JSON.stringify(question, bigintText));
          }
        }
      });
    }
  }
});

/** The result, or the code of a refusal; `undefined` if the variant has no such route. */
async function answerOf(
  client: ClientA | ClientB,
  question: ParsedRequest,
  range: TimeRange,
  pageSize?: number,
): Promise<unknown> {
  const options = {
    ...(range.startMs !== undefined && { start: new Date(range.startMs) }),
    ...(range.endMs !== undefined && { end: new Date(range.endMs) }),
  };
  try {
    const list = listOf(client, question, { ...options, pageSize });
    if (list !== undefined) return await all(list);
    return 'pointsOfBoard' in client ? await pointsOf(client, question, options) : undefined;
  } catch (error) {
    assert.ok(error instanceof ProblemError, inspect(error));
    assert.equal(error.status, 404);
    assert.match(error.requestId ?? '', /^[0-9a-f-]{36}$/);
    return error.code;
  }
}

function listOf(
  client: ClientA | ClientB,
  question: ParsedRequest,
  options: object,
): AsyncIterable<unknown> | undefined {
  switch (question.route) {
    case 'events':
      return client.events(options);
    case 'events of a board':
      return client.eventsOfBoard(question.id, options);
    case 'events with pins':
      return client.eventsOfPins(options);
    case 'events of a user':
      return client.eventsOfUser(String(question.id), options);
    case 'boards':
      return client.boards(options);
    case 'users':
      return client.users(options);
    default:
      return undefined;
  }
}

async function pointsOf(client: ClientA, question: ParsedRequest, options: object): Promise<unknown> {
  switch (question.route) {
    case 'points of a board':
      if (question.by === 'lti') return await client.pointsOfLti(question.name, options);
      if (question.by === 'course') return await client.pointsOfCourse(question.name, options);
      return await client.pointsOfBoard(question.name, options);
    case 'points of a user':
      return await client.pointsOfUser(question.id, { ...options, key: keyOf(question.keyedBy) });
    case 'points of an LMS user':
      return await client.pointsOfLmsUser(question.property, question.value, {
        ...options,
        key: keyOf(question.keyedBy),
      });
    default:
      return undefined;
  }
}

function keyOf(keyedBy: 'user' | 'board') {
  return keyedBy === 'board' ? keyedBy : undefined;
}

/**
 * The expected result in the client's form: ids are strings. Uses the runtime's JSON parser, not
 * that of the client.
 */
function asClient(expected: Json): unknown {
  return JSON.parse(renderJson(expected), (name: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && /^(\w+_)?id$/.test(name) ? context?.source : value,
  );
}

function bigintText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

describe('the client', () => {
  it('types events with a pin by the presence of `pin`', async () => {
    const bodies: string[] = [];
    for await (const event of clientA().events()) {
      if (event.pin !== undefined) bodies.push(event.pin.body);
    }
    assert.equal(bodies.length, 6);
  });

  it('returns and accepts ids beyond 2^53 exactly', async () => {
    const [first] = await all(clientB().eventsOfUser(ZOE));
    assert.equal(first?.actor.id, '9007199254740993');
    assert.equal(first?.board.id, String(FAR));
  });

  it('sends no request before the first element is read', async () => {
    const asked: string[] = [];
    const client = openClient({
      ...{ baseUrl: `${world.url}/a`, key: world.keys.full, variant: 'a' },
      fetch: (...request) => {
        asked.push(String(request[0]));
        return fetch(...request);
      },
    });
    const events = client.eventsOfBoard(RHETORIC, { start: '2018-03-12T00:00:00+01:00', pageSize: 3 });
    assert.deepEqual(asked, []);
    await events.next();
    assert.deepEqual(asked, [
      `${world.url}/a/v1/events/board/7?start=2018-03-12T00%3A00%3A00%2B01%3A00&limit=3`,
    ]);
    await events.return();
  });

  it('throws refusals with their code, and without the key', async () => {
    const { expired, full, revoked } = world.keys;
    const refusals: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['key-expired', () => clientA(expired).pointsOfBoard(7)],
      ['key-revoked', () => all(clientB(revoked).users())],
      ['key-unknown', () => all(clientA(`${full}x`).events({ pageSize: 5 }))],
      ['parameter-malformed', () => all(clientA().events({ pageSize: 10_001 }))],
      ['range-reversed', () => clientA().pointsOfUser(1, { start: 2e12, end: 1e12 })],
      ['not-found', () => clientA().pointsOfLti('none')],
      ['lookup-not-configured', () => clientA().pointsOfLmsUser('email', 'x')],
    ];
    for (const [code, ask] of refusals) {
      const error = await errorOf(ask());
      assert.ok(error instanceof ProblemError, inspect(error));
      assert.equal(error.code, code);
      assert.doesNotMatch(
        inspect(error, { depth: 9, showHidden: true }) + error.stack,
        new RegExp(full.slice(12, 40)),
      );
    }
  });

  it('hides the key from inspection', () => {
    assert.doesNotMatch(inspect(clientA(), { depth: 9, showHidden: true }), new RegExp(world.keys.full));
  });

  it('stops when its signal is aborted, with the reason of the signal', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    const events = clientA().events({ pageSize: 1, signal: controller.signal });
    await events.next();
    controller.abort(reason);
    await assert.rejects(events.next(), reason);
    await assert.rejects(clientA().pointsOfBoard(7, { signal: AbortSignal.abort(reason) }), reason);
  });

  it('refuses invalid arguments before sending a request', async () => {
    const open = (baseUrl: string, key = 'k', variant: Variant = 'a') =>
      openClient({ baseUrl, key, variant: variant as 'a' });
    for (const baseUrl of [
      '',
      'example.org/a',
      'ftp://example.org',
      'http://me:secret@example.org/a',
      'http://x/a?y',
      'http://x/b/',
    ]) {
      assert.throws(() => open(baseUrl), TypeError, baseUrl);
    }
    for (const key of ['', 'two words', 'line\n']) assert.throws(() => open('http://x/a', key), TypeError);
    assert.throws(() => open('http://x/a', 'k', 'b'), /ends in \/a, which is not Variant B/);
    assert.throws(() => clientA().eventsOfUser(2 ** 53), TypeError);
    for (const name of ['', '.', '..', '\ud800']) {
      await assert.rejects(clientA().pointsOfLti(name), TypeError);
    }
  });
});
