/** PgBouncer in front of a test database. It has its defaults except for what a test sets. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Client } from 'pg';
import { until } from '../server/stand.ts';
import { findPort, UNPRIVILEGED } from './throwaway.ts';

/** Debian installs it where only root looks for programs. */
const PROGRAMS = ['pgbouncer', '/usr/sbin/pgbouncer'];
const PASSWORD = 's3cret-p4ss';

export interface PgBouncer {
  /** The address of the same database behind it, with a password. */
  readonly url: string;
  close(): Promise<void>;
}

function findProgram(): string | undefined {
  return PROGRAMS.find((program) => spawnSync(program, ['--version']).status === 0);
}

export function hasPgBouncer(): boolean {
  return findProgram() !== undefined;
}

export async function startPgBouncer(
  database: string,
  settings: Readonly<Record<string, string | number>>,
): Promise<PgBouncer> {
  const { hostname, port: serverPort, username } = new URL(database);
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-pgbouncer-'));
  // It refuses to run as root; a different user must be able to read its files.
  const owner = process.getuid?.() === 0 ? UNPRIVILEGED : undefined;
  chmodSync(folder, 0o755);
  const port = await findPort();
  const users = join(folder, 'users');
  writeFileSync(users, `"${username}" "${PASSWORD}"\n`);
  const lines = Object.entries({
    ...{ listen_addr: '127.0.0.1', listen_port: port, unix_socket_dir: '', auth_file: users },
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`);
  const file = join(folder, 'pgbouncer.ini');
  const server = `* = host=${hostname} port=${serverPort}`;
  writeFileSync(file, ['[databases]', server, '[pgbouncer]', ...lines, ''].join('\n'));
  const child = spawn(findProgram() ?? 'pgbouncer', [file], {
    ...owner,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  const log = buffer(child.stderr);
  const url = database.replace(/\/\/.*?\//, `//${username}:${PASSWORD}@127.0.0.1:${port}/`);
  const close = async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${await log}`);
      return await accepts(url);
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { url, close };
}

async function accepts(url: string): Promise<boolean> {
  const client = new Client(url);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
