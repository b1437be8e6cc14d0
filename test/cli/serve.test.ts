import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { until } from '../server/stand.ts';
import { runJson, runProcess, start, temporaryFolder } from './command.ts';
import { serving, stop } from './serving.ts';
import { writeLargeBundle, writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');

describe('serve', () => {
  it('prints the base URLs, responds there, and ends with exit code 0 on SIGTERM', async (t) => {
    await runJson([
      'import',
      writeSmallBundle(join(folder, 'bundle')),
      '--organization',
      'school',
      '--data',
      data,
    ]);
    const { key } = await runJson(['keys', 'create', '--organization', 'school', '--data', data]);
    const server = await serving(t, ['serve', '--data', data, '--variant', 'b']);
    const { printed } = server;
    const a = printed['Variant A'] ?? '';
    assert.match(a, /^http:\/\/127\.0\.0\.1:\d+\/a$/);
    const headers = { apikey: key };
    const onA = await fetch(`${a}/v1/boards`, { headers });
    assert.deepEqual(await onA.text(), '[{"id":7,"title":"Rhetoric"},{"id":9007199254740993,"title":"Far"}]');
    const onB = await fetch(`${printed['Variant B']}/v1/users`, { headers });
    const atRoot = await fetch(new URL('/v1/users', a), { headers });
    assert.equal(await atRoot.text(), await onB.text());
    await stop(server, 'SIGTERM');
  });

  it('says how to begin if there is no organization', async (t) => {
    const empty = join(folder, 'empty');
    const child = start(['serve', '--data', empty, '--workers', '1', '--port', '0']);
    t.after(() => child.kill('SIGKILL'));
    let printed = '';
    child.stdout!.on('data', (chunk) => {
      printed += chunk;
    });
    await until(() => printed.includes('corkboard demo'));
    assert.ok(printed.includes(`There is no organization in the data folder ${empty} yet.`), printed);
    assert.match(printed, /^ {2}corkboard import FOLDER --organization NAME$/m);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  });

  it('finishes open responses after a signal, and does not wait for them after a second one', async (t) => {
    const large = ['--organization', 'large', '--data', data];
    await runJson(['import', writeLargeBundle(join(folder, 'large')), ...large]);
    const { key } = await runJson(['keys', 'create', ...large]);
    const { child, printed, remarks } = await serving(t, [
      ...['serve', '--data', data, '--log-level', 'silent', '--workers', '1'],
    ]);
    const socket = connect(Number(new URL(printed['Variant A'] ?? '').port), '127.0.0.1');
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(`GET /a/v1/events HTTP/1.1\r\nHost: x\r\napikey: ${key}\r\n\r\n`);
    await once(socket, 'data');
    // The client stops reading, so that the response stays in flight.
    socket.pause();
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    await until(() => remarks.length > 0);
    assert.match(remarks.join(), /^Stopping/);
    assert.equal(child.exitCode, null);
    const again = setInterval(() => child.kill('SIGINT'), 50);
    t.after(() => clearInterval(again));
    assert.deepEqual(await exited, [1, null]);
  });

  it('refuses a port in use, with exit code 1 and without a stack trace', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const { code, stdout, stderr } = await runProcess([
      'serve',
      '--data',
      data,
      '--port',
      port,
      '--log-level',
      'silent',
    ]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^corkboard: Cannot listen on port \d+ of 127\.0\.0\.1: it is in use; .*\n$/);
  });
});

describe('demo', () => {
  it('loads its data once, prints a request that works, and invalidates the key of the previous start', async (t) => {
    const demo = join(folder, 'demo');
    const first = await serving(t, ['demo', '--data', demo], 'Try');
    const [, key = '', url = ''] =
      /^curl -H 'apikey: (cork_\w+)' '(.*)'$/.exec(first.printed['Try'] ?? '') ?? [];
    assert.equal(first.printed['Key'], key);
    const answer = await fetch(url, { headers: { apikey: key } });
    assert.equal(answer.status, 200);
    await stop(first, 'SIGINT');
    const { version } = await runJson(['organizations', 'show', 'demo', '--data', demo]);
    const second = await serving(t, ['demo', '--data', demo], 'Try');
    const list = new URL('/a/v1/boards', second.printed['Variant A']);
    assert.equal((await fetch(list, { headers: { apikey: key } })).status, 401);
    assert.equal((await fetch(list, { headers: { apikey: second.printed['Key'] ?? '' } })).status, 200);
    assert.equal((await runJson(['organizations', 'show', 'demo', '--data', demo])).version, version);
    await stop(second, 'SIGTERM');
  });
});

describe('standard output', () => {
  it('that is closed ends a command quietly', async () => {
    const child = start(['organizations', 'show', 'school', '--data', data]);
    child.stdout?.destroy();
    const [stderr] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
    assert.deepEqual([child.exitCode, stderr], [0, '']);
  });
});
