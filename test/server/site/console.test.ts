/** HTTP delivery of the files of a console. `test/console/` tests the real console in a browser. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertProblem, head, openStand, type Stand, sendRaw } from '../stand.ts';

const INDEX = '<!doctype html><title>Console</title>';
const SCRIPT = 'export const twice = (value) => 2 * value;\n'.repeat(50);

const LICENSES = '# Licenses\n';

let stand: Stand;
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corkboard-console-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), INDEX);
  await writeFile(join(folder, 'licenses.md'), LICENSES);
  await writeFile(join(folder, 'assets/index-abc.js'), SCRIPT);
  stand = await openStand({ consoleFolder: folder, defaultVariant: 'b' });
});
after(async () => {
  await stand.close();
  await rm(folder, { recursive: true });
});

const load = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(stand.url + path, { headers, method });

describe('the console', () => {
  it('is served at / and at every path under /console/ that is not a file, without a key', async () => {
    for (const path of ['/', '/?from=2018-01-01', '/console', '/console/', '/console/boards/7']) {
      const response = await load(path);
      assert.equal(response.status, 200, path);
      assert.equal(await response.text(), INDEX);
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.equal(response.headers.get('cache-control'), 'no-cache');
    }
  });

  it('has the licence notices of the libraries in its scripts', async () => {
    const response = await load('/console/licenses.md');
    assert.equal(await response.text(), LICENSES);
    assert.equal(response.headers.get('content-type'), 'text/markdown; charset=utf-8');
    const built = await readFile(join(import.meta.dirname, '../../../dist/console/licenses.md'), 'utf8');
    for (const name of ['react', 'react-dom', 'd3-scale', '@visx/axis', '@tanstack/react-query']) {
      assert.match(built, new RegExp(`^## ${name} - .*\\n\\n.*(licen[cs]e|copyright)`, 'im'), name);
    }
  });

  it('has a policy that forbids scripts and requests to other hosts, and inline code', async () => {
    const policy = (await load('/')).headers.get('content-security-policy') ?? '';
    const rules = policy.split('; ');
    assert.ok(rules.includes("default-src 'none'") && rules.includes("script-src 'self'"));
    assert.ok(rules.includes("style-src 'self'") && rules.includes("connect-src 'self'"));
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  });

  it('has immutable files, compressed if the client accepts that', async () => {
    const response = await load('/console/assets/index-abc.js', { 'accept-encoding': 'gzip' });
    assert.equal(response.headers.get('content-encoding'), 'gzip');
    assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(response.headers.get('vary'), 'Accept-Encoding');
    assert.equal(await response.text(), SCRIPT);
    for (const accepted of ['identity', 'gzip;q=0', 'br, gzip; q=0.0']) {
      const plain = await load('/console/assets/index-abc.js', { 'accept-encoding': accepted });
      assert.equal(plain.headers.get('content-encoding'), null, accepted);
      assert.equal(await plain.text(), SCRIPT);
    }
  });

  it('is not sent again to a client that has it', async () => {
    for (const path of ['/', '/console/assets/index-abc.js']) {
      const etag = (await load(path)).headers.get('etag') ?? '';
      const again = await load(path, { 'if-none-match': etag });
      assert.deepEqual([again.status, await again.text()], [304, '']);
    }
  });

  it('has a different tag for each encoding of a file, and supports If-None-Match: * and If-Match', async () => {
    for (const path of ['/', '/console/assets/index-abc.js']) {
      const tags = ['gzip', 'identity'].map(async (encoding) => {
        const response = await load(path, { 'accept-encoding': encoding });
        await response.text();
        return response.headers.get('etag');
      });
      assert.equal(new Set(await Promise.all(tags)).size, 2);
      assert.equal((await load(path, { 'if-none-match': '*' })).status, 304);
      assert.equal((await load(path, { 'if-match': '"x"' })).status, 412);
    }
  });

  it('accepts only the methods of the API', async () => {
    const bare = await sendRaw(stand.port, head('HEAD', '/console/assets/index-abc.js'));
    assert.equal(bare.status, 200);
    assert.equal(bare.headers.get('content-length'), String(SCRIPT.length));
    assert.equal(bare.body, '');
    assertProblem(await sendRaw(stand.port, head('POST', '/console/boards')), 405, 'method-not-allowed');
    assert.equal((await load('/console/boards', {}, 'OPTIONS')).status, 204);
  });

  it('serves only its own files', async () => {
    for (const path of ['/console/assets/other.js', '/console/assets/', '/console/assets/..%2findex.html']) {
      const reply = await sendRaw(stand.port, head('GET', path));
      assertProblem(reply, 404, 'not-found');
    }
  });

  it('leaves the paths of the API unchanged', async () => {
    assert.equal((await load('/users')).status, 401);
    assert.equal((await load('/v1/users')).status, 401);
    assert.match(await (await load('/docs')).text(), /<h3><code>GET/);
  });
});

it('the page at / is a plain page without a build of the console', async () => {
  const plain = await openStand({ consoleFolder: join(folder, 'nowhere') });
  assert.match(await (await fetch(`${plain.url}/`)).text(), /OpenAPI document/);
  assert.equal((await fetch(`${plain.url}/console/boards`)).status, 404);
  await plain.close();
});
