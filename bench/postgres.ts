/** A private PostgreSQL from the system packages, with its own folder and port, not run by root. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
