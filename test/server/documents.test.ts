import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { PROBLEM_CODES, PROBLEMS } from '../../src/domain/app-error.ts';
import { OTHER_REFUSALS } from '../../src/server/routes/openapi-parts.ts';
import { head, openStand, type Stand, sendRaw } from './stand.ts';
import { closed } from './strict-document.ts';

const REFERENCE_PATHS = ['/docs', '/docs/api', '/docs/api/plain'];

let stand: Stand;
before(async () => {
  stand = await openStand();
});
after(() => stand.close());

describe('docs/errors.md', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8');

  it('has as its example a problem of the server', async () => {
    const [, example = ''] = /```json\n(.*?)```/s.exec(text) ?? [];
    const { request_id, ...members } = JSON.parse(example);
    const headers = { apikey: stand.key };
    const response = await fetch(`${stand.url}${members.instance}?strat=1514764800000`, { headers });
    const problem: Readonly<Record<string, unknown>> = JSON.parse(await response.text());
    assert.deepEqual({ ...problem, request_id }, { ...members, request_id });
  });

  it('lists exactly the problems of the table, with status, title and remedy', () => {
    const rows = text.split('\n').filter((line) => /^\| \d{3} \|/.test(line));
    const expected = PROBLEM_CODES.map((code) => {
      const { status, title, remedy } = PROBLEMS[code];
      return `| ${status} | \`${code}\` | ${title} | ${remedy} |`;
    });
    assert.deepEqual(
      rows,
      expected,
      'Bring docs/errors.md and PROBLEMS in src/server/http/problem.ts into line.',
    );
  });
});

describe('the pages', () => {
  it('at /, /docs and for every problem need no key, script or other host without a build', async () => {
    for (const path of ['/', ...REFERENCE_PATHS, ...PROBLEM_CODES.map((code) => `/problems/${code}`)]) {
      const response = await fetch(stand.url + path);
      const html = await response.text();
      assert.equal(response.status, 200, path);
      assert.match(
        response.headers.get('content-security-policy') ?? '',
        /^default-src 'none'; style-src 'sha256-/,
      );
      assert.doesNotMatch(html, /<script|https?:\/\//, path);
    }
    assert.equal((await fetch(`${stand.url}/problems/nothing`)).status, 404);
  });

  it('at /docs and /docs/api show every route of both variants without a build', async () => {
    for (const path of REFERENCE_PATHS) {
      const html = await (await fetch(stand.url + path)).text();
      assert.equal(html.match(/<h3><code>GET \/a\/v1\//g)?.length, 11);
      assert.equal(html.match(/<h3><code>GET \/b\/v1\//g)?.length, 6);
      assert.equal(html.match(/<h3><code>GET \/b\/users</g)?.length, 1);
    }
  });
});

describe('the OpenAPI documents', () => {
  interface OpenApi {
    readonly openapi: string;
    readonly info: { readonly version: string; readonly 'x-corkboard-version': string };
    readonly servers: readonly { readonly url: string }[];
    readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
    readonly components: {
      readonly headers: object;
      readonly schemas: Readonly<Record<string, object>>;
      readonly responses: Readonly<Record<string, RefusalComponent>>;
    };
  }
  interface RefusalComponent {
    readonly headers: object;
    readonly content: { readonly 'application/problem+json': { readonly examples: Examples } };
  }
  type Examples = Readonly<Record<string, { readonly value: { readonly code: string } }>>;
  interface Operation {
    readonly operationId: string;
    readonly parameters: readonly {
      readonly name: string;
      readonly schema: { readonly type?: string; readonly pattern?: string };
      readonly example: unknown;
    }[];
    readonly responses: Readonly<Record<string, Described>>;
  }
  interface Described {
    readonly $ref?: string;
    readonly headers?: object;
    readonly content?: Readonly<Record<string, { readonly schema: BodySchema }>>;
  }
  interface BodySchema {
    readonly type?: string;
    readonly format?: string;
    readonly contentMediaType?: string;
    readonly contentSchema?: { readonly type: string; readonly items: object };
  }
  // Between two requests these tests compute for seconds, in which the server closes idle
  // connections.
  const load = async (path: string): Promise<OpenApi> =>
    JSON.parse(await (await fetch(stand.url + path, { headers: { connection: 'close' } })).text());

  it('have the version, the base and every path of their variant', async () => {
    const [a, b, root] = await Promise.all(['/a', '/b', ''].map((base) => load(`${base}/openapi.json`)));
    assert.equal(a?.openapi, '3.1.0');
    assert.deepEqual([a?.info.version, b?.info.version], ['2.2.1', '0.0.1']);
    assert.deepEqual(
      [a, b, root].map((document) => document?.servers[0]?.url),
      ['/a', '/b', '/'],
    );
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
    assert.equal(a?.info['x-corkboard-version'], version);
    assert.deepEqual(Object.keys(a?.paths ?? {}).sort(), [
      '/v1/board/{boardId}/points',
      '/v1/boards',
      '/v1/course/{courseId}/points',
      '/v1/events',
      '/v1/events/board/{board-id}',
      '/v1/events/pins',
      '/v1/events/user/{user-id}',
      '/v1/lms_user/{prop}/{val}/points',
      '/v1/lti/{ltiId}/points',
      '/v1/user/{userId}/points',
      '/v1/users',
    ]);
    assert.deepEqual(Object.keys(b?.paths ?? {}).sort(), [
      '/users',
      '/v1/board/{board-id}',
      '/v1/boards',
      '/v1/events',
      '/v1/pins',
      '/v1/user/{user-id}',
      '/v1/users',
    ]);
  });

  const DOCUMENTS = ['/openapi.json', '/a/openapi.json', '/b/openapi.json', '/insights/v1/openapi.json'];

  it('declare Parquet as a file, so that generated clients know the other types', async () => {
    for (const path of ['/a/openapi.json', '/b/openapi.json']) {
      for (const [name, { get }] of Object.entries((await load(path)).paths)) {
        const { 'application/vnd.apache.parquet': parquet } = get.responses['200']?.content ?? {};
        if (parquet === undefined) assert.match(name, /points$/);
        else assert.deepEqual([parquet.schema.type, parquet.schema.format], ['string', 'binary']);
      }
    }
  });

  it('have ids of operations that are unique across all documents', async () => {
    const documents = await Promise.all(DOCUMENTS.map(load));
    const ids = documents.flatMap(({ paths }) => Object.values(paths).map(({ get }) => get.operationId));
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(['listEvents', 'listEventsA', 'listEventsB', 'findEvents'].every((id) => ids.includes(id)));
  });

  it('describe an instant as one text, in every form', async () => {
    for (const path of DOCUMENTS) {
      const operations = Object.values((await load(path)).paths).map(({ get }) => get);
      const instants = operations
        .flatMap(({ parameters }) => parameters)
        .filter(({ name }) => ['start', 'end', 'at'].includes(name));
      assert.ok(instants.length > 0);
      for (const { schema, example } of instants) {
        assert.equal(schema.type, 'string');
        const form = new RegExp(schema.pattern ?? '$.');
        const right = ['0', '-1', '1514764800', '2018-03-12T17:00:45Z', '2018-03-12T17:00:45.5+01:00'];
        for (const text of [String(example), ...right]) assert.match(text, form);
        for (const text of ['', 'now', '1.5.5', '2018-03-12', '2018-03-12T17:00:45']) {
          assert.doesNotMatch(text, form);
        }
      }
    }
  });

  it('allow members that later versions add; the tests refuse them', async () => {
    for (const path of DOCUMENTS) {
      assert.doesNotMatch(JSON.stringify(await load(path)), /"(additional|unevaluated)Properties":false/);
    }
    const document = await load('/a/openapi.json');
    const [event] = (await (await stand.get('/a/v1/events')).json()) as [object];
    const judge = (given: typeof document, schema: string) =>
      new Ajv2020({ strict: false, validateFormats: false })
        .addSchema(given, 'document')
        .compile({ $ref: `document#/components/schemas/${schema}` });
    assert.ok(judge(closed(document), 'Event')(event));
    assert.ok(judge(document, 'Event')({ ...event, added: 1 }));
    assert.ok(!judge(closed(document), 'Event')({ ...event, added: 1 }));
    assert.ok(judge(closed(document), 'Forgotten')({ forgotten: { user: 5 } }));
    assert.ok(!judge(closed(document), 'Forgotten')({ forgotten: { user: 5, name: '' } }));
    assert.ok(judge(closed(document), 'Synced')({ sync_token: 'x' }));
  });

  it('say that an event has a pin if and only if its type is pin', async () => {
    const validate = new Ajv2020({ strict: false, validateFormats: false })
      .addSchema(await load('/a/openapi.json'), 'document')
      .compile({ $ref: 'document#/components/schemas/Event' });
    const events = (await (await stand.get('/a/v1/events')).json()) as { type: string; pin?: object }[];
    const onPin = events.find(({ pin }) => pin !== undefined);
    const other = events.find(({ pin }) => pin === undefined);
    assert.ok(onPin && other);
    assert.deepEqual(
      [onPin, other].map((event) => validate(event)),
      [true, true],
    );
    const { pin, ...lost } = onPin;
    assert.deepEqual(
      [lost, { ...other, pin }, { ...other, type: 'pin' }].map((event) => validate(event)),
      [false, false, false],
    );
  });

  it('describe lines, rows and messages', async () => {
    for (const path of DOCUMENTS) {
      for (const { get } of Object.values((await load(path)).paths)) {
        for (const [type, { schema }] of Object.entries(get.responses['200']?.content ?? {})) {
          if (type === 'application/json') continue;
          assert.deepEqual([schema.type, schema.contentMediaType], ['string', type]);
          assert.equal(schema.contentSchema?.type, 'array');
          assert.match(JSON.stringify(schema.contentSchema.items), /"#\/components\/schemas\/\w+"/);
        }
      }
    }
  });

  it('describe the messages of a live stream', async () => {
    const document = closed(await load('/a/openapi.json'));
    const validate = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document');
    const message = validate.compile({ $ref: 'document#/components/schemas/StreamMessage' });
    const data = validate.compile({
      $ref: 'document#/components/schemas/StreamMessage/properties/data/contentSchema',
    });
    const stopped = new AbortController();
    const { body } = await fetch(`${stand.url}/a/v1/events?since=start`, {
      headers: { apikey: stand.key, accept: 'text/event-stream' },
      signal: stopped.signal,
    });
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (/event: synced\n.*\n.*\n\n/.test(text)) break;
    }
    stopped.abort();
    const messages = text.split('\n\n').slice(0, -1);
    assert.ok(messages.length > 1);
    for (const lines of messages) {
      const fields: Record<string, string> = Object.fromEntries(
        lines.split('\n').map((line) => line.split(/: (.*)/s, 2)),
      );
      assert.ok(message(fields), lines);
      assert.ok(data(JSON.parse(fields['data'] ?? '')), lines);
    }
  });

  it('give an example of every problem code, each at one response', async () => {
    const { components } = await load('/a/openapi.json');
    const examples = Object.values(components.responses).flatMap(({ content }) =>
      Object.values(content['application/problem+json'].examples),
    );
    assert.deepEqual(examples.map(({ value }) => value.code).sort(), [...PROBLEM_CODES].sort());
  });

  it('define no unused header field and no unused response', async () => {
    for (const path of DOCUMENTS) {
      const document = await load(path);
      const text = JSON.stringify(document);
      for (const kind of ['headers', 'responses'] as const) {
        for (const name of Object.keys(document.components[kind])) {
          assert.ok(text.includes(`"#/components/${kind}/${name}"`), `${path}: ${name}`);
        }
      }
    }
  });

  it('declare RateLimit on every response that contains it', async () => {
    const { paths, components } = await load('/a/openapi.json');
    const key = await stand.makeKey({
      redact: { email: true, name: true, id: false },
      rateLimit: { requests: 9, perSeconds: 3600 },
    });
    const etag = (await stand.get('/a/v1/boards', { apikey: key })).headers.get('etag') ?? '';
    const responses: Record<string, { headers?: object; $ref?: string }> = {
      ...paths['/v1/boards']?.get.responses,
      ...paths['/v1/lms_user/{prop}/{val}/points']?.get.responses,
    };
    for (const [path, status, headers, method] of [
      ['/a/v1/boards', 200, {}, 'GET'],
      ['/a/v1/boards', 304, { 'if-none-match': etag }, 'GET'],
      ['/a/v1/boards?x=1', 400, {}, 'GET'],
      ['/a/v1/boards', 401, { apikey: 'none' }, 'GET'],
      ['/a/v1/lms_user/sis/B-1/points', 403, {}, 'GET'],
      ['/a/v1/board/77/points', 404, {}, 'GET'],
      ['/a/v1/boards', 405, {}, 'POST'],
      ['/a/v1/boards', 406, { accept: 'image/png' }, 'GET'],
      [`/a/v1/boards?${'x'.repeat(9_000)}`, 414, {}, 'GET'],
      ['/a/v1/boards', 429, {}, 'GET'],
    ] as const) {
      const reply = await sendRaw(stand.port, head(method, path, { apikey: key, ...headers }));
      assert.equal(reply.status, status, reply.body);
      // Only some of the refusals that `default` describes are counted.
      const isOther = OTHER_REFUSALS.statuses.includes(status);
      const { $ref, headers: own } = responses[isOther ? 'default' : status] ?? {};
      const declared = $ref === undefined ? own : components.responses[$ref.split('/').at(-1) ?? '']?.headers;
      for (const name of ['RateLimit', 'RateLimit-Policy']) {
        const isSent = reply.headers.has(name.toLowerCase());
        assert.equal(name in (declared ?? {}), isOther || isSent, `${status}: ${name}`);
      }
    }
  });
});
