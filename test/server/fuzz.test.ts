/**
 * Many requests over raw sockets, generated from the OpenAPI documents or from random
 * bytes: every response must be one that the document of the variant describes.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc, { type Arbitrary } from 'fast-check';
import { IS_LONG } from '../long.ts';
import { runs } from '../model/runs.ts';
import { openWorld, type World } from '../world.ts';
import {
  checkRefusal,
  isIdentifier,
  type OpenApiDocument,
  type Oracle,
  openOracle,
} from './document-oracle.ts';
import { type BuiltRequest, builtRequest, type Given, headerFields } from './request-arbitrary.ts';
import { head, type RawReply, sendRaw } from './stand.ts';

const BASES = ['', '/a', '/b', '/insights'] as const;
/** Values that exist in the fixture, and one that does not. */
const KNOWN = [
  '7',
  '8',
  '9',
  '1',
  '2',
  '3',
  '404',
  'lti-rhetoric',
  'lti 8%',
  'RHET 101/é',
  'FAR',
  'sis_user_id',
];
const KEYS = ['full', 'boards', 'users', 'nothing'] as const;
/** Methods that Node's parser accepts and this API does not. */
const WRONG_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'M-SEARCH', 'QUERY', 'PURGE'];
const UNKNOWN_METHODS = ['FOO', 'get', 'GETT', 'BREW', 'X'];

let world: World;
let port: number;
let oracles: ReadonlyMap<string, Oracle>;

before(async () => {
  world = await openWorld();
  port = Number(new URL(world.url).port);
  const opened = BASES.map(async (base) => [base, openOracle(await readDocument(base))] as const);
  oracles = new Map(await Promise.all(opened));
});
after(() => world.close());

async function readDocument(base: string): Promise<OpenApiDocument> {
  const path = base === '/insights' ? '/insights/v1/openapi.json' : `${base}/openapi.json`;
  return JSON.parse(await (await fetch(world.url + path)).text());
}

function oracleOf(base: string): Oracle {
  const oracle = oracles.get(base);
  assert.ok(oracle);
  return oracle;
}

const bases = fc.constantFrom(...BASES);
const built = (base: string) => builtRequest(oracleOf(base).document, KNOWN);
const builtAnywhere = bases.chain((base) => fc.record({ base: fc.constant(base), request: built(base) }));

/**
 * Sends a raw request, with a body of the announced length. Asserts that the response contains no
 * key and no internals.
 */
async function send(method: string, target: string, fields: Record<string, string>): Promise<RawReply> {
  const body = 'x'.repeat(Number(fields['content-length'] ?? 0));
  const reply = await sendRaw(port, Buffer.from(head(method, target, fields) + body, 'latin1'));
  assert.doesNotMatch(reply.body, /cork_[a-z0-9]+_[a-z0-9]{20}|node_modules|\.ts:\d/, 'the inside shows');
  return reply;
}

/** Statuses that a response may have, derived only from the schemas of the parameters. */
function expectedStatuses(oracle: Oracle, { path, names, query }: BuiltRequest): readonly number[] {
  const isRefused = ({ parameter, text }: Given) =>
    parameter === undefined || (!isLenient(parameter.name, text) && !oracle.accepts(parameter.schema, text));
  const given = query.map(({ name }) => name);
  const isRepeated = new Set(given).size < given.length;
  const isBadName = names.some(
    (name) => name.parameter?.schema.type === 'integer' && !isIdentifier(name.text),
  );
  if (query.some(isRefused) || isRepeated || isBadName) return [400];
  // A schema cannot express that cursors and sync tokens belong to a query, that ranges have an
  // order, and that the number of periods is limited.
  const countsPeriods = oracle.document.paths[path]?.get.parameters.some(({ name }) => name === 'interval');
  const mayBe400 =
    ['cursor', 'since'].some((name) => given.includes(name)) ||
    (given.includes('start') && given.includes('end')) ||
    countsPeriods;
  const isTable =
    given.includes('since') &&
    query.some(({ name, text }) => name === 'format' && /^(csv|parquet)$/.test(text));
  if (isTable) return [406, ...(mayBe400 ? [400] : [])];
  if (given.includes('token') && !given.includes('since')) return [400];
  if (given.includes('compare') && !['start', 'end'].every((name) => given.includes(name))) return [400];
  // No key has the permission, and the parameter belongs to one value of `by`.
  if (given.includes('property')) return [400, 403];
  // The parameter applies to CSV only.
  if (given.includes('excel') && !query.some(({ name, text }) => name === 'format' && text === 'csv'))
    return [400];
  const lenient = query.some(({ name, text }) => isLenient(name, text));
  const mayBe404 = names.length > 0 || ['board', 'user'].some((name) => given.includes(name));
  // No key here may see LMS properties.
  const permitted = given.includes('id') ? [403] : [200, ...(mayBe404 ? [404] : [])];
  return [...permitted, ...(mayBe400 || lenient ? [400] : [])];
}

/**
 * Whether a value may be accepted although its strict schema refuses it: more forms of ISO 8601 are
 * read than the documents promise, Unix time can have a fraction, and time zones are a list.
 */
function isLenient(name: string, text: string): boolean {
  if (name === 'zone') return /^[A-Za-z]/.test(text);
  return ['start', 'end', 'at'].includes(name) && /^(\d{4}-\d{2}-\d{2}[Tt ]|-?\d+\.\d)/.test(text);
}

describe('requests generated from the OpenAPI documents', () => {
  it('get a documented response, with any parameters', async () => {
    const asked = { key: fc.constantFrom(...KEYS), method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD') };
    await property(
      2_000,
      fc.tuple(builtAnywhere, fc.record(asked)),
      async ([{ base, request }, { key, method }]) => {
        const oracle = oracleOf(base);
        const reply = await send(method, base + request.target, { apikey: world.keys[key] });
        oracle.check(reply, request.path, method);
        const expected = expectedStatuses(oracle, request);
        assert.ok(expected.includes(reply.status), `${reply.status} instead of ${expected}: ${reply.body}`);
      },
    );
  });

  it('get a documented response, with any header fields', async () => {
    await property(1_000, fc.tuple(builtAnywhere, headerFields()), async ([{ base, request }, fields]) => {
      const reply = await send('GET', base + request.target, { apikey: world.keys.full, ...fields });
      oracleOf(base).check(reply, request.path, 'GET');
      if (reply.status === 200) await checkRevalidation(base + request.target, reply, fields);
    });
  });

  it('are 401 without a valid key, before any other error', async () => {
    const forged = `${world.keys.full.slice(0, -1)}${world.keys.full.endsWith('0') ? '1' : '0'}`;
    const refused = [world.keys.expired, world.keys.revoked, forged, '', 'x', 'x'.repeat(5_000), '\xff'];
    const methods = fc.constantFrom('GET', 'HEAD', 'OPTIONS', ...WRONG_METHODS);
    const asked = fc.tuple(builtAnywhere, fc.constantFrom(undefined, ...refused), methods);
    await property(500, asked, async ([{ base, request }, apikey, method]) => {
      const reply = await send(method, base + request.target, apikey === undefined ? {} : { apikey });
      assert.equal(reply.status, 401);
      oracleOf(base).check(reply, request.path, method);
    });
  });

  it('are 405 or 501 with a different method', async () => {
    const methods = fc.constantFrom(...WRONG_METHODS, ...UNKNOWN_METHODS);
    await property(500, fc.tuple(builtAnywhere, methods), async ([{ base, request }, method]) => {
      const reply = await send(method, base + request.target, { apikey: world.keys.full });
      assert.equal(reply.status, WRONG_METHODS.includes(method) ? 405 : 501);
      oracleOf(base).check(reply, request.path, method);
    });
  });

  it('get the allowed methods for OPTIONS', async () => {
    await property(100, builtAnywhere, async ({ base, request }) => {
      const reply = await send('OPTIONS', base + request.target, { apikey: world.keys.full });
      assert.equal(reply.status, 204);
      assert.equal(reply.headers.get('allow'), 'GET, HEAD, OPTIONS');
      assert.equal(reply.body, '');
    });
  });
});

describe('invalid requests', () => {
  it('are refused with a problem document, for any URL', async () => {
    const pieces = [
      '/',
      '/a',
      '/b',
      '/v1',
      '/events',
      '/board',
      '/7',
      '/points',
      '?',
      '&',
      '=',
      'limit',
      '%',
      '%2f',
    ];
    const more = [
      '%00',
      '%ff',
      '..',
      '//',
      ';',
      '#',
      '\\',
      '*',
      '{',
      '|',
      '\x7f',
      '\xe9',
      '%25',
      ':',
      '@',
      '+',
    ];
    const target = fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 12, size: 'max' });
    await property(1_000, target, async (parts) => {
      const reply = await send('GET', `/v1${parts.join('')}`, { apikey: world.keys.full });
      oracleOf('').check(reply, undefined, 'GET');
    });
  });

  it('are refused with a problem document, for any bytes', async () => {
    const line = fc.oneof(
      fc.constantFrom(
        'GET /a/v1/boards HTTP/1.1',
        'GET /a/v1/boards HTTP/9.9',
        'GET /a/v1/boards',
        'HTTP/1.1 200 OK',
      ),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    );
    const field = fc.oneof(
      fc.constantFrom(
        'Host: x',
        'Host:',
        'host: y',
        'Content-Length: -1',
        'Content-Length: 5',
        ': x',
        ' folded',
      ),
      fc.constantFrom(
        'Transfer-Encoding: chunked',
        'Transfer-Encoding: gzip',
        'Upgrade: websocket',
        'a b: c',
      ),
      fc.string({ unit: 'binary', maxLength: 40 }),
    );
    // An empty line would end the head, and the lines after it would be a second request.
    const fields = fc
      .array(field, { maxLength: 5 })
      .filter((all) => all.every((one) => !/^[\r\n]|^$/.test(one)));
    await property(500, fc.tuple(line, fields), async ([first, more]) => {
      // Ends a chunked body, and has five bytes for `Content-Length: 5`, so that the server never
      // waits for a body.
      const lines = [first, ...more, 'Connection: close', '', '0', '', ''].join('\r\n');
      const reply = await sendRaw(port, Buffer.from(lines, 'latin1'));
      // Only a path that requires no key could succeed, and no such path is generated.
      assert.ok(reply.status >= 400, `${reply.status} to ${JSON.stringify(lines)}`);
      checkRefusal(reply, first.startsWith('HEAD') ? 'HEAD' : 'GET');
    });
  });
});

/** Asserts that the entity tag of a response gives 304. */
async function checkRevalidation(
  target: string,
  reply: RawReply,
  fields: Record<string, string>,
): Promise<void> {
  const again = { ...fields, apikey: world.keys.full, 'if-none-match': reply.headers.get('etag') ?? '' };
  assert.equal((await send('GET', target, again)).status, 304);
}

/** Checks a property `most` times in a long run, and otherwise a fourth as often. */
async function property<T>(
  most: number,
  arbitrary: Arbitrary<T>,
  holds: (value: T) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(arbitrary, holds), runs(IS_LONG ? most : most / 4));
}
