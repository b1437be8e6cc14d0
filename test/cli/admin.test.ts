/** The admin address of a server in one process and in several. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import packageFile from '../../package.json' with { type: 'json' };
import { readinessOfAll } from '../../src/server/observability/cluster-health.ts';
import { IS_LONG } from '../long.ts';
import { until } from '../server/stand.ts';
import { run, runJson, runProcess, temporaryFolder } from './command.ts';
import { ask, type Serving, serving, stop } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
const SERVE = ['serve', '--data', data, '--admin-port', '0'];
const READY = { status: 'ready' };
const UNIMPAIRED = { earlier: 0, partial: 0, unavailable: 0 };

async function askJson(url: string): Promise<readonly [number, Record<string, unknown>]> {
  const { status, body } = await ask(url);
  return [status, JSON.parse(body)];
}

describe('serve --admin-port', () => {
  let key: string;
  let shared: Promise<Serving> | undefined;
  const ends: (() => void)[] = [];
  /** The server with two workers that several tests use: each process takes a second to start. */
  const serveByTwo = () => {
    shared ??= serving({ after: (end) => ends.push(end) }, [...SERVE, '--workers', '2'], 'Admin');
    return shared;
  };
  before(async () => {
    const school = ['--organization', 'school', '--data', data];
    await runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...school]);
    key = (await runJson(['keys', 'create', ...school])).key;
  });
  after(() => {
    for (const end of ends) end();
  });

  for (const workers of [1, 2]) {
    const also = workers === 1 ? {} : { workers: { serving: workers, configured: workers } };

    it(`has health and metrics of ${workers} workers, and the public port has no metrics`, async (t) => {
      const server =
        workers === 1 ? await serving(t, [...SERVE, '--workers', '1'], 'Admin') : await serveByTwo();
      const admin = server.printed['Admin'] ?? '';
      assert.match(admin, /^http:\/\/127\.0\.0\.1:\d+$/);
      const { origin } = new URL(server.printed['Variant A'] ?? '');
      assert.notEqual(admin, origin);
      const replies = Array.from({ length: 4 }, () => ask(`${origin}/a/v1/boards`, key));
      assert.ok((await Promise.all(replies)).every(({ status }) => status === 200));
      assert.deepEqual(await askJson(`${admin}/livez`), [200, { status: 'alive' }]);
      assert.deepEqual(await askJson(`${admin}/readyz`), [200, { ...READY, ...also }]);
      const { status, headers, body } = await ask(`${admin}/metrics`);
      assert.equal(status, 200);
      assert.match(String(headers['content-type']), /^text\/plain; version=/);
      const lines = body.split('\n');
      for (const line of [
        `corkboard_workers ${workers}`,
        `corkboard_workers_configured ${workers}`,
        `corkboard_build_info{version="${packageFile.version}",node="${process.versions.node}"} 1`,
        'corkboard_requests_total{route="/a/v1/boards",method="GET",status="200"} 4',
      ]) {
        assert.ok(lines.includes(line), line);
      }
      assert.ok(!body.includes(key) && !body.includes('/metrics'));
      const refused = await ask(`${origin}/metrics`);
      assert.equal(refused.status, 404);
      assert.match(refused.body, /The metrics are at the admin address/);
      assert.deepEqual(await askJson(`${origin}/livez`), [200, { status: 'alive' }]);
      assert.deepEqual(await askJson(`${origin}/readyz`), [200, READY]);
      if (workers === 1) await stop(server, 'SIGTERM');
    });
  }

  it('says that a worker does not respond, and that it responds again', async () => {
    const server = await serveByTwo();
    const pids = execFileSync('ps', ['--ppid', String(server.child.pid), '-o', 'pid='], { encoding: 'utf8' });
    const [hung = 0] = pids.trim().split(/\s+/).map(Number);
    process.kill(hung, 'SIGSTOP');
    const paths = ['/livez', '/readyz', '/metrics'];
    const all = () => Promise.all(paths.map((path) => ask(`${server.printed['Admin']}${path}`)));
    const silent = '503 {"status":"a worker does not respond"}';
    const replies = await all().finally(() => process.kill(hung, 'SIGCONT'));
    const told = replies.map(({ status, body }) => `${status} ${body}`);
    assert.deepEqual(told, [silent, silent, silent]);
    await until(async () => (await all()).every(({ status }) => status === 200));
    await stop(server, 'SIGTERM');
  });

  it('refuses a port in use, in one process and in several', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const args = ['serve', '--data', data, '--port', '0', '--admin-port', port, '--log-level', 'silent'];
    for (const [workers, runServe] of [
      ['1', run],
      ['2', runProcess],
    ] as const) {
      assert.deepEqual(await runServe([...args, '--workers', workers]), {
        code: 1,
        stdout: '',
        stderr: `corkboard: Cannot listen on port ${port} of 127.0.0.1: it is in use; choose a different port with --admin-port, or 0 for any free port.\n`,
      });
    }
  });

  it('takes its place from the environment', async (t) => {
    process.env['CORKBOARD_ADMIN_PORT'] = '0';
    process.env['CORKBOARD_ADMIN_HOST'] = '127.0.0.2';
    t.after(() => {
      delete process.env['CORKBOARD_ADMIN_PORT'];
      delete process.env['CORKBOARD_ADMIN_HOST'];
    });
    const server = await serving(t, ['serve', '--data', data, '--workers', IS_LONG ? '2' : '1'], 'Admin');
    assert.match(server.printed['Admin'] ?? '', /^http:\/\/127\.0\.0\.2:\d+$/);
    assert.equal((await ask(`${server.printed['Admin']}/readyz`)).status, 200);
    await stop(server, 'SIGTERM');
  });
});

describe('the readiness of all workers', () => {
  const ready = { isGood: true, body: READY };
  const impaired = { isGood: true, body: { status: 'degraded', impaired_organizations: UNIMPAIRED } };
  const away = { isGood: false, body: { status: 'store unavailable' } };
  const workers = (serving: number) => ({ serving, configured: 2 });

  it('is that of the worst worker', () => {
    assert.deepEqual(readinessOfAll([ready, impaired], 2), {
      isGood: true,
      body: { ...impaired.body, workers: workers(2) },
    });
    assert.deepEqual(readinessOfAll([impaired, away], 2), {
      isGood: false,
      body: { ...away.body, workers: workers(2) },
    });
    assert.equal(readinessOfAll([ready, 'silent'], 2).isGood, false);
  });

  it('is degraded while a worker is being replaced, and lost with the last worker', () => {
    const degraded = { isGood: true, body: { status: 'degraded', workers: workers(1) } };
    assert.deepEqual(readinessOfAll([ready, 'gone'], 2), degraded);
    assert.deepEqual(readinessOfAll([ready], 2), degraded);
    const lost = { isGood: false, body: { status: 'no worker is running', workers: workers(0) } };
    assert.deepEqual(readinessOfAll([], 2), lost);
    assert.deepEqual(readinessOfAll(['gone', 'gone'], 2), lost);
  });
});
