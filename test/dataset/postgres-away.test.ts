/** A database that vanishes without a word: its connections stay open, and nothing comes any more. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { Database } from '../../src/dataset/postgres/database.ts';
import { sharedPostgres } from '../postgres/throwaway.ts';

/** As long as the database may say nothing. */
const PATIENCE_MS = 200;
const CONNECT_MS = 1_000;
/** Both, one after the other, on a machine that is busy. */
const AT_LAST_MS = 4_000;

const away = { name: 'AppError', code: 'database-away' };

describe('a database behind a network that goes silent', () => {
  const sockets = new Set<Socket>();
  let isSilent = false;
  let database: Database;
  let close: () => void;

  before(async () => {
    const target = new URL(await (await sharedPostgres()).newDatabase());
    const [port, host] = [Number(target.port), target.hostname];
    const proxy = createServer((near) => {
      const far = connect(port, host);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.on('data', (bytes) => other.write(bytes));
        one.on('error', () => other.destroy());
        one.on('close', () => other.destroy());
        if (isSilent) one.pause();
      }
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    target.port = String((proxy.address() as AddressInfo).port);
    database = new Database(target.href, { connectMs: CONNECT_MS, patienceMs: PATIENCE_MS });
    close = () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    };
  });
  after(async () => {
    close();
    await database.close();
  });

  function silence(silent: boolean): void {
    isSilent = silent;
    for (const socket of sockets) silent ? socket.pause() : socket.resume();
  }

  async function awayWithin(asking: Promise<unknown>): Promise<void> {
    const startMs = performance.now();
    await assert.rejects(asking, away);
    assert.ok(performance.now() - startMs < AT_LAST_MS);
  }

  const answers = async () => assert.deepEqual(await database.rows('SELECT 1'), [[1]]);

  it('is away for questions, old connections and new ones, and is there again by itself', async () => {
    await answers();
    silence(true);
    await Promise.all([awayWithin(database.rows('SELECT 1')), awayWithin(database.rows('SELECT 2'))]);
    silence(false);
    await answers();
  });

  it('is away in the middle of an answer, and of what is copied into it', async () => {
    const reading = async () => {
      const sql = 'SELECT n::int FROM generate_series(1, 2000000) n';
      for await (const { columns } of database.columns(sql, ['int4'])) if (columns[0][0] === 1) silence(true);
    };
    await awayWithin(reading());
    silence(false);
    await answers();
    await database.rows('CREATE TABLE public.sink (line TEXT)');
    async function* endless() {
      for (;;) yield Buffer.alloc(65_536);
    }
    const session = await database.open();
    const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
    silence(true);
    await awayWithin(session.copyInto('public.sink', prefixed(header, endless())));
    session.close();
    silence(false);
    await answers();
  });

  it('is waited for as long as it works, and as its reader takes', async () => {
    assert.equal((await database.rows(`SELECT pg_sleep(${(5 * PATIENCE_MS) / 1000})::text`)).length, 1);
    let rows = 0;
    for await (const { count } of database.columns('SELECT n::int FROM generate_series(1, 5000) n', [
      'int4',
    ])) {
      rows += count;
      await new Promise((resolve) => setTimeout(resolve, 2 * PATIENCE_MS));
    }
    assert.equal(rows, 5000);
  });
});

async function* prefixed(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
