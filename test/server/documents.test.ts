import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PROBLEM_CODES, PROBLEMS } from '../../src/server/problem.ts';
import { openStand, type Stand } from './stand.ts';

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
    assert.deepEqual(rows, expected, 'Bring docs/errors.md and PROBLEMS in src/server/problem.ts into line.');
  });
});

describe('pages', () => {
  it('/, /docs and the page of every problem are readable without a key, script or another host', async () => {
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

  it('/docs shows every route of both variants', async () => {
    const html = await (await fetch(`${stand.url}/docs`)).text();
    assert.equal(html.match(/<h3><code>GET \/a\/v1\//g)?.length, 11);
    assert.equal(html.match(/<h3><code>GET \/b\/v1\//g)?.length, 6);
  });
});

describe('OpenAPI documents', () => {
  interface OpenApi {
    readonly openapi: string;
    readonly info: { readonly version: string };
    readonly servers: readonly { readonly url: string }[];
    readonly paths: Readonly<Record<string, { readonly get: { readonly operationId: string } }>>;
  }
  const load = async (path: string): Promise<OpenApi> =>
    JSON.parse(await (await fetch(stand.url + path)).text());

  it('name the version, the base and every path of their variant', async () => {
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
});
