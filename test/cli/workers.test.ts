/** Several worker processes on one port, with real sockets and signals. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../server/stand.ts';
import { run, runJson, runProcess, temporaryFolder } from './command.ts';
import { ask, type Serving, serving, stop } from './serving.ts';
import { writeLargeBundle, writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
const SCHOOL = ['--organization', 'school', '--data', data];
const LARGE = ['--organization', 'large', '--data', data];

/** The workers of a primary. */
function workersOf(primary: number | undefined): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  const processes = lines.map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? []);
  return processes
    .filter(([, , parent, words]) => Number(parent) === primary && / serve /.test(words ?? ''))
    .map(([, pid]) => Number(pid));
}

/** The value of a metric in `/metrics`. */
function figure(metrics: string, name: string): string | undefined {
  const line = metrics.split('\n').find((text) => text.startsWith(`${name} `));
  return line?.slice(name.length + 1);
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('workers', () => {
  let server: Serving;
  let base: string;
  let key: string;
  const ends: (() => void)[] = [];

  before(async () => {
    await runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...SCHOOL]);
    key = (await runJson(['keys', 'create', ...SCHOOL])).key;
    server = await serving({ after: (end) => ends.push(end) }, ['serve', '--data', data, '--workers', '2']);
    base = server.printed['Variant A'] ?? '';
  });
  after(() => {
    for (const end of ends) end();
  });

  /** The workers with a log line that meets the condition. */
  function workersIn(condition: (line: Record<string, unknown>) => boolean): Set<unknown> {
    return new Set(server.log.filter(condition).map((line) => line['worker']));
  }

  async function askAll(path: string, times: number, withKey = key) {
    return await Promise.all(Array.from({ length: times }, () => ask(`${base}${path}`, withKey)));
  }

  it('all respond on the printed port, and each log line names its worker', async () => {
    const replies = await askAll('/v1/boards', 8);
    assert.deepEqual(
      [...new Set(replies.map(({ status, body }) => `${status} ${body}`))],
      ['200 [{"id":7,"title":"Rhetoric"},{"id":9007199254740993,"title":"Far"}]'],
    );
    await until(() => workersIn((line) => line['path'] === '/a/v1/boards').size === 2);
    assert.equal(workersOf(server.child.pid).length, 2);
  });

  it('each show the sum of the metrics of all workers', async () => {
    await askAll('/v1/users', 7);
    const count = () => server.log.filter((line) => line['path'] === '/a/v1/users').length;
    await until(() => count() === 7);
    for (const { status, headers, body } of await askAll('/../metrics', 4, '')) {
      assert.equal(status, 200);
      assert.match(String(headers['content-type']), /^text\/plain/);
      assert.equal(
        figure(body, 'corkboard_requests_total{route="/a/v1/users",method="GET",status="200"}'),
        '7',
      );
      assert.equal(figure(body, 'corkboard_request_duration_seconds_count{route="/a/v1/users"}'), '7');
      assert.equal(figure(body, 'corkboard_workers'), '2');
    }
  });

  it('share the rate limit of a key, exact to the request', async () => {
    const limited = await runJson(['keys', 'create', ...SCHOOL, '--rate-limit', '5/hour']);
    const replies = await askAll('/v1/boards/7', 12, limited.key);
    const passed = replies.filter(({ status }) => status !== 429);
    const left = passed.map(({ headers }) => /;r=(\d+);/.exec(String(headers['ratelimit']))?.[1]);
    assert.deepEqual(left.sort(), ['0', '1', '2', '3', '4']);
    await until(() => workersIn((line) => line['key'] === limited.id).size === 2);
  });

  it('all refuse a key from the moment it is revoked', async () => {
    const { key: revoked, id } = await runJson(['keys', 'create', ...SCHOOL]);
    assert.ok((await askAll('/v1/boards', 6, revoked)).every(({ status }) => status === 200));
    await runJson(['keys', 'revoke', id, ...SCHOOL]);
    const replies = await askAll('/v1/boards', 6, revoked);
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([401]));
    assert.ok(replies.every(({ body }) => body.includes('"key-revoked"')));
  });

  it('all switch to a newly published version', async () => {
    const more = writeSmallBundle(join(folder, 'more'), { 'boards.csv': 'id,title\n8,Logic\n' });
    const { version } = await runJson(['import', more, ...SCHOOL]);
    await until(() => workersIn((line) => line['version'] === version).size === 2);
    for (const { body } of await askAll('/v1/boards', 6)) assert.match(body, /"Logic"/);
  });

  it('all apply the limits from the environment or the options', async (t) => {
    process.env['CORKBOARD_LIMITS'] = 'streams-per-key=0';
    t.after(() => delete process.env['CORKBOARD_LIMITS']);
    const limited = await serving(t, ['serve', '--data', data, '--workers', '2']);
    const headers = { apikey: key, accept: 'text/event-stream', connection: 'close' };
    for (let times = 0; times < 4; times += 1) {
      const response = await fetch(`${limited.printed['Variant A']}/v1/events`, { headers });
      assert.equal(response.status, 429);
      assert.equal(response.headers.get('retry-after'), '5');
      assert.match(await response.text(), /"code":"too-many-own-streams"/);
    }
    const worker = (line: Record<string, unknown>) =>
      line['code'] === 'too-many-own-streams' && line['worker'];
    await until(() => new Set(limited.log.filter(worker).map(worker)).size === 2);
    await stop(limited, 'SIGTERM');
    const other = await serving(t, ['serve', '--data', data, '--limit', 'streams=0']);
    const refused = await fetch(`${other.printed['Variant A']}/v1/events`, { headers });
    assert.match(await refused.text(), /"code":"too-many-streams"/);
    await stop(other, 'SIGTERM');
  });

  it('show no metrics while one of them does not respond, and show them again when it does', async () => {
    const [hung = 0] = workersOf(server.child.pid);
    process.kill(hung, 'SIGSTOP');
    // Connections go to the workers in turn, so the first response comes from the other worker.
    const replies = [1, 2].map(() => ask(new URL('/metrics', base).href));
    const first = await Promise.race(replies);
    process.kill(hung, 'SIGCONT');
    assert.equal(first.status, 503);
    assert.equal(first.body, '{"status":"a worker does not respond"}');
    await Promise.all(replies);
    assert.equal(figure((await ask(new URL('/metrics', base).href)).body, 'corkboard_workers'), '2');
  });

  it('replace a killed worker, which has the same limits, and respond in the meantime', async () => {
    const metrics = async () => (await ask(new URL('/metrics', base).href)).body;
    // It follows from the free memory, so a second measurement would differ.
    const limit = async () => figure(await metrics(), 'corkboard_limit{limit="response-memory"}');
    const limitBefore = await limit();
    assert.match(String(limitBefore), /^\d+$/);
    const [killed = 0, other] = workersOf(server.child.pid);
    process.kill(killed, 'SIGKILL');
    const deaths = () => server.log.filter((line) => line['signal'] === 'SIGKILL');
    await until(() => deaths().length > 0);
    assert.equal(deaths()[0]?.['level'], 'error');
    assert.ok((await askAll('/v1/boards', 12)).every(({ status }) => status === 200));
    await until(() => workersIn((line) => /^Server listening/.test(String(line['msg']))).size === 3);
    await until(async () => figure(await metrics(), 'corkboard_workers') === '2');
    assert.equal(await limit(), limitBefore);
    const now = workersOf(server.child.pid);
    assert.ok(now.length === 2 && now.includes(other ?? 0) && !now.includes(killed));
    assert.ok((await askAll('/v1/boards', 12)).every(({ status }) => status === 200));
  });

  it('end when their primary is killed', async () => {
    const workers = workersOf(server.child.pid);
    server.child.kill('SIGKILL');
    await until(() => !workers.some(lives));
    await assert.rejects(ask(base));
  });
});

function portOf({ printed }: Serving): number {
  return Number(new URL(printed['Variant A'] ?? '').port);
}

/**
 * Whether a new connection is refused. Sends nothing: the server would wait for a begun request.
 */
async function refuses(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const refused = await once(socket, 'connect').then(
    () => false,
    () => true,
  );
  socket.destroy();
  return refused;
}

describe('workers that stop', () => {
  /** Begins to read a response, and then stops reading. */
  async function beginAnswer(serving: Serving, key: string): Promise<Socket> {
    const socket = connect(portOf(serving), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET /a/v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\napikey: ${key}\r\n\r\n`);
    await once(socket, 'readable');
    return socket;
  }

  before(() => runJson(['import', writeLargeBundle(join(folder, 'large')), ...LARGE]));

  it('finish open responses, even if the signal reaches every worker and the primary twice', async (t) => {
    const { key } = await runJson(['keys', 'create', ...LARGE]);
    const server = await serving(t, ['serve', '--data', data, '--workers', '2', '--log-level', 'silent']);
    const socket = await beginAnswer(server, key);
    t.after(() => socket.destroy());
    const workers = workersOf(server.child.pid);
    const exited = once(server.child, 'exit');
    for (const pid of [server.child.pid ?? 0, ...workers, server.child.pid ?? 0])
      process.kill(pid, 'SIGTERM');
    await until(() => server.remarks.length > 0);
    await until(() => refuses(portOf(server)));
    assert.equal(server.child.exitCode, null);
    let head = '';
    let receivedBytes = 0;
    socket.on('data', (chunk: Buffer) => {
      if (receivedBytes === 0) head = chunk.toString('latin1').split('\r\n\r\n')[0] ?? '';
      receivedBytes += chunk.length;
    });
    await once(socket, 'end');
    assert.equal(receivedBytes - head.length - 4, Number(/content-length: (\d+)/i.exec(head)?.[1]));
    assert.deepEqual(await exited, [0, null]);
    assert.deepEqual(server.remarks, [
      'Stopping when the responses in progress have ended; a second signal stops immediately.',
    ]);
    assert.ok(!workers.some(lives));
  });

  it('do not wait for open responses after a second signal', async (t) => {
    const { key } = await runJson(['keys', 'create', ...LARGE]);
    const server = await serving(t, ['serve', '--data', data, '--workers', '2', '--log-level', 'silent']);
    const socket = await beginAnswer(server, key);
    t.after(() => socket.destroy());
    const workers = workersOf(server.child.pid);
    const exited = once(server.child, 'exit');
    server.child.kill('SIGINT');
    await until(() => server.remarks.length > 0);
    const again = setInterval(() => server.child.kill('SIGINT'), 50);
    t.after(() => clearInterval(again));
    assert.deepEqual(await exited, [1, null]);
    await until(() => !workers.some(lives));
  });
});

describe('workers that cannot start', () => {
  async function startBoth(args: readonly string[]): Promise<readonly unknown[]> {
    const serve = ['serve', '--log-level', 'silent', ...args];
    return [await run([...serve, '--workers', '1']), await runProcess([...serve, '--workers', '2'])];
  }

  it('fail on a port in use with the same message as a single process', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const [one, two] = await startBoth(['--data', data, '--port', port]);
    assert.deepEqual(two, one);
    assert.deepEqual(one, {
      code: 1,
      stdout: '',
      stderr: `corkboard: Cannot listen on port ${port} of 127.0.0.1: it is in use; choose a different port with --port, or 0 for any free port.\n`,
    });
  });

  it('fail on a folder that cannot be used with the same message as a single process', async () => {
    const unusable = join(folder, 'unusable');
    writeFileSync(unusable, '');
    const [one, two] = await startBoth(['--data', unusable, '--port', '0']);
    assert.deepEqual(two, one);
    assert.match(
      JSON.stringify(one),
      /^\{"code":1,"stdout":"","stderr":"corkboard: Cannot use the data folder/,
    );
  });
});
