/** Delivery of built documents. `test/console/documents.ts` opens the real ones in a browser. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertProblem, head, openStand, type Stand, sendRaw } from '../stand.ts';

const FILES = {
  'index.html': '<title>Documents</title>',
  'api.html': '<title>Reference</title>',
  'operations.html': '<title>Operations</title>',
  'tutorials/first.html': '<title>First</title>',
  'search.json': '{}',
  'assets/page-abc.js': 'export const once = 1;\n',
};

let stand: Stand;
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corkboard-documents-'));
  for (const inner of ['tutorials', 'assets']) await mkdir(join(folder, inner));
  for (const [path, text] of Object.entries(FILES)) await writeFile(join(folder, path), text);
  stand = await openStand({ documentsFolder: folder });
});
after(async () => {
  await stand.close();
  await rm(folder, { recursive: true });
});

const load = (path: string) => fetch(stand.url + path, { redirect: 'manual' });

describe('the documents', () => {
  it('are served under /docs without a key, with or without the extension', async () => {
    for (const [path, file] of [
      ['/docs/', 'index.html'],
      ['/docs/index.html', 'index.html'],
      ['/docs/api', 'api.html'],
      ['/docs/operations', 'operations.html'],
      ['/docs/operations.html?q=1', 'operations.html'],
      ['/docs//tutorials/first', 'tutorials/first.html'],
    ] as const) {
      const response = await load(path);
      assert.equal(response.status, 200, path);
      assert.equal(await response.text(), FILES[file]);
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.equal(response.headers.get('cache-control'), 'no-cache');
    }
  });

  it('redirect to the path from which relative links lead to pages', async () => {
    for (const [path, place] of [
      ['/docs', '/docs/'],
      ['/docs?a=1', '/docs/'],
      ['/docs/operations/', '/docs/operations'],
      ['/docs/tutorials/first//', '/docs/tutorials/first'],
    ] as const) {
      const response = await load(path);
      assert.deepEqual([response.status, response.headers.get('location')], [308, place], path);
    }
    assert.equal(await (await fetch(`${stand.url}/docs`)).text(), FILES['index.html']);
  });

  it('have a policy without other origins; only the reference may have inline styles', async () => {
    for (const path of ['/docs/', '/docs/api', '/docs/api.html', '/docs/operations', '/docs/search.json']) {
      const policy = (await load(path)).headers.get('content-security-policy') ?? '';
      const rules = policy.split('; ');
      assert.ok(rules.includes("default-src 'none'") && rules.includes("script-src 'self'"), path);
      assert.ok(rules.includes("connect-src 'self'") && rules.includes("frame-ancestors 'none'"));
      assert.doesNotMatch(policy, /unsafe-eval|https?:|\*/);
      assert.equal(policy.includes("'unsafe-inline'"), path.startsWith('/docs/api'), path);
      assert.doesNotMatch(policy, /script-src[^;]*unsafe/);
    }
  });

  it('have immutable scripts, and a plain reference that needs none', async () => {
    const script = await load('/docs/assets/page-abc.js');
    assert.equal(await script.text(), FILES['assets/page-abc.js']);
    assert.equal(script.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    const plain = await load('/docs/api/plain');
    assert.match(
      plain.headers.get('content-security-policy') ?? '',
      /^default-src 'none'; style-src 'sha256-/,
    );
    assert.match(await plain.text(), /<h3><code>GET/);
  });

  it('contain only their own files', async () => {
    for (const path of ['/docs/nowhere', '/docs/assets/', '/docs/..%2fpackage.json', '/docs/api/other']) {
      assertProblem(await sendRaw(stand.port, head('GET', path)), 404, 'not-found');
    }
  });
});

describe('addresses of the reference that the console once had', () => {
  it('redirect to the reference and to its operation', async () => {
    for (const [path, place] of [
      ['/console/api', '/docs/api'],
      ['/console/api?op=getPointsOfBoardA&from=2018-01-01', '/docs/api#getPointsOfBoardA'],
      ['/console/api?op=%22%3E', '/docs/api#%22%3E'],
    ] as const) {
      const response = await load(path);
      assert.deepEqual([response.status, response.headers.get('location')], [308, place], path);
    }
  });
});
