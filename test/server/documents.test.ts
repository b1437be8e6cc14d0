import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PROBLEM_CODES, PROBLEMS } from '../../src/domain/app-error.ts';
import { head, openStand, type Stand, sendRaw } from './stand.ts';

let stand: Stand;
before(async () => {
  stand = await openStand();
});
after(() => stand.close());

describe('docs/errors.md', () => {
  it('lists exactly the problems of the table, with status, title and remedy', () => {
    const text = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8');
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
  it('at /, at /docs and for every problem are readable without a key, scripts or other hosts', async () => {
    for (const path of ['/', '/docs', ...PROBLEM_CODES.map((code) => `/problems/${code}`)]) {
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

  it('at /docs show every route of both variants', async () => {
    const html = await (await fetch(`${stand.url}/docs`)).text();
    assert.equal(html.match(/<h3><code>GET \/a\/v1\//g)?.length, 11);
    assert.equal(html.match(/<h3><code>GET \/b\/v1\//g)?.length, 6);
    assert.equal(html.match(/<h3><code>GET \/b\/users</g)?.length, 1);
  });
});

describe('the OpenAPI documents', () => {
  interface OpenApi {
    readonly openapi: string;
    readonly info: { readonly version: string };
    readonly servers: readonly { readonly url: string }[];
    readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
    readonly components: {
      readonly headers: object;
      readonly responses: Readonly<Record<string, { readonly headers: object }>>;
    };
  }
  interface Operation {
    readonly operationId: string;
    readonly responses: Readonly<Record<string, Described>>;
  }
  interface Described {
    readonly $ref?: string;
    readonly headers?: object;
    readonly content?: Readonly<
      Record<string, { readonly schema: { readonly type?: string; readonly format?: string } }>
    >;
  }
  const load = async (path: string): Promise<OpenApi> =>
    JSON.parse(await (await fetch(stand.url + path)).text());

  it('have the version, the base and every path of their variant', async () => {
    const [a, b, root] = await Promise.all(['/a', '/b', ''].map((base) => load(`${base}/openapi.json`)));
    assert.equal(a?.openapi, '3.1.0');
    assert.deepEqual([a?.info.version, b?.info.version], ['2.2.1', '0.0.1']);
    assert.deepEqual(
      [a, b, root].map((document) => document?.servers[0]?.url),
      ['/a', '/b', '/'],
    );
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

  const DOCUMENTS = ['/a/openapi.json', '/b/openapi.json', '/insights/v1/openapi.json'];

  it('declare Parquet as a file, so that generated clients know the other types', async () => {
    for (const path of ['/a/openapi.json', '/b/openapi.json']) {
      for (const [name, { get }] of Object.entries((await load(path)).paths)) {
        const { 'application/vnd.apache.parquet': parquet } = get.responses['200']?.content ?? {};
        if (parquet === undefined) assert.match(name, /points$/);
        else assert.deepEqual([parquet.schema.type, parquet.schema.format], ['string', 'binary']);
      }
    }
  });

  it('describe every form of an instant', async () => {
    for (const path of DOCUMENTS) {
      const text = JSON.stringify(await load(path));
      const forms = [...text.matchAll(/"anyOf":(\[\{"type":"integer".*?\}\])/g)].map(([, form]) => form!);
      assert.ok(forms.length > 0, path);
      for (const form of forms) {
        const described: { readonly description?: string }[] = JSON.parse(form);
        assert.ok(
          described.every(({ description }) => description !== undefined),
          form,
        );
      }
    }
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
      const { $ref, headers: own } = responses[status] ?? {};
      const declared = $ref === undefined ? own : components.responses[$ref.split('/').at(-1) ?? '']?.headers;
      for (const name of ['RateLimit', 'RateLimit-Policy']) {
        const isSent = reply.headers.has(name.toLowerCase());
        assert.equal(name in (declared ?? {}), isSent, `${status}: ${name}`);
      }
    }
  });
});
