/** A private PostgreSQL from the system packages, with its own folder and port, not run by root. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { findPort, hasProgram, type Running, run, runningOf, untilListening } from './processes.ts';

const DEBIAN = '/usr/lib/postgresql';

export interface Postgres extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  readonly version: string;
}

/** Throws if PostgreSQL is not installed, or if there is no user who can run it. */
export async function startPostgres(signal: AbortSignal): Promise<Postgres> {
  const programs = findPrograms();
  const owner = findOwner();
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-bench-postgres-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  if (owner) await chown(folder, owner.uid, owner.gid);
  const data = join(folder, 'data');
  const options = { ...owner, signal, cwd: folder };
  await run(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  );
  const port = await findPort();
  const args = ['-D', data, '-p', `${port}`, '-h', '127.0.0.1', '-k', folder];
  const server: Running = stack.use(
    runningOf(spawn(join(programs, 'postgres'), args, { ...options, stdio: 'ignore', killSignal: 'SIGINT' })),
  );
  await untilListening(server, port);
  const version = (await run(join(programs, 'postgres'), ['--version'], options)).trim();
  const ending = stack.move();
  return {
    pid: server.pid,
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    version,
    [Symbol.asyncDispose]: () => ending.disposeAsync(),
  };
}

/** Creates an empty database and returns its URL. */
export async function makeDatabase({ url }: Postgres): Promise<string> {
  const name = `bench_${crypto.randomUUID().replaceAll('-', '')}`;
  await query(url, `CREATE DATABASE ${name}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

export async function dropDatabase(place: string, { url }: Postgres): Promise<void> {
  await query(url, `DROP DATABASE ${new URL(place).pathname.slice(1)} WITH (FORCE)`);
}

/** The bytes of the tables of a schema, with their indexes. */
export async function measureSchema(url: string, schema: string): Promise<number> {
  const sql = `SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = '${schema}'::regnamespace`;
  return Number((await query(url, sql))[0]?.['sum']);
}

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function findPrograms(): string {
  const newest = existsSync(DEBIAN)
    ? readdirSync(DEBIAN)
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => join(DEBIAN, version, 'bin'))
        .find((folder) => existsSync(join(folder, 'initdb')))
    : undefined;
  if (newest) return newest;
  if (hasProgram('initdb')) return '';
  throw new Error('PostgreSQL is not installed (Debian: postgresql).');
}

/** PostgreSQL refuses to run as root, so the user of the package runs it. */
function findOwner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  try {
    const idOf = (flag: string) =>
      Number(
        execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
      );
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    throw new Error('Root may not run PostgreSQL, and there is no user "postgres".');
  }
}
