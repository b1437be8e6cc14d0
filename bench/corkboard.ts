/** The product in its usual form: the built command line with its defaults. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readPeak, readProcessTree } from './memory.ts';
import { type Running, runningOf } from './processes.ts';

const COMMAND_TIMEOUT_MS = 60 * 60_000;
const START_TIMEOUT_MS = 10 * 60_000;
const MEMORY_EVERY_MS = 20;
export const ORGANIZATION = 'bench';
/** The local cache of this run, in the temporary folder. */
const CACHE = join(tmpdir(), `corkboard-bench-cache-${process.pid}`);
process.once('exit', () => rmSync(CACHE, { recursive: true, force: true }));

/** A built checkout, with environment variables for its commands. */
export interface Program {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export const THIS: Program = { folder: join(import.meta.dirname, '..') };

function mainOf({ folder }: Program): string {
  return join(folder, 'dist/cli/main.js');
}

function environmentOf({ environment }: Program): Record<string, string | undefined> {
  return { ...process.env, CORKBOARD_CACHE: CACHE, ...environment };
}

export interface CommandOutcome {
  readonly stdout: string;
  readonly elapsedMs: number;
  /** Undefined if the system does not report it. */
  readonly peakBytes: number | undefined;
}

/** Runs one `corkboard` command to its end. Throws if it fails or takes longer than an hour. */
export async function runCorkboard(
  args: readonly string[],
  signal: AbortSignal,
  program = THIS,
): Promise<CommandOutcome> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [mainOf(program), ...args], {
    env: environmentOf(program),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_TIMEOUT_MS,
    signal,
  });
  let peakBytes: number | undefined;
  const watch = setInterval(() => {
    peakBytes = Math.max(readPeak(readProcessTree(child.pid ?? 0)) ?? 0, peakBytes ?? 0) || undefined;
  }, MEMORY_EVERY_MS);
  try {
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    if (code !== 0) throw new Error(`corkboard ${args[0]} ended with ${code}:\n${stderr || stdout}`);
    return { stdout, elapsedMs: performance.now() - startMs, peakBytes };
  } finally {
    clearInterval(watch);
  }
}

/** The options that name the storage: a folder, or the URL of a database. */
export function placeWords(place: string): readonly string[] {
  return [place.startsWith('postgres://') ? '--database' : '--data', place];
}

export async function migrate(url: string, signal: AbortSignal): Promise<void> {
  await runCorkboard(['migrate', ...placeWords(url)], signal);
}

export function importFiles(
  paths: readonly string[],
  dataDir: string,
  signal: AbortSignal,
  organization = ORGANIZATION,
  program = THIS,
): Promise<CommandOutcome> {
  return runCorkboard(
    ['import', ...paths, '--organization', organization, ...placeWords(dataDir), '--json'],
    signal,
    program,
  );
}

/**
 * Creates a key of the organization. Options are those of `keys create`; without options, the key
 * sees everything.
 */
export async function makeKey(
  dataDir: string,
  signal: AbortSignal,
  options: readonly string[] = [],
  program = THIS,
): Promise<string> {
  return (await createKey(dataDir, signal, ORGANIZATION, options, program)).key;
}

export interface CreatedKey {
  readonly id: string;
  readonly key: string;
}

export async function createKey(
  dataDir: string,
  signal: AbortSignal,
  organization: string,
  options: readonly string[] = [],
  program = THIS,
): Promise<CreatedKey> {
  const place = placeWords(dataDir);
  const args = ['keys', 'create', '--organization', organization, ...place, '--json', ...options];
  return JSON.parse((await runCorkboard(args, signal, program)).stdout);
}

export async function revokeKey(dataDir: string, id: string, signal: AbortSignal): Promise<void> {
  await runCorkboard(['keys', 'revoke', id, ...placeWords(dataDir)], signal);
}

export async function countEvents(dataDir: string, signal: AbortSignal): Promise<number> {
  const args = ['organizations', 'show', ORGANIZATION, ...placeWords(dataDir), '--json'];
  return JSON.parse((await runCorkboard(args, signal)).stdout).events;
}

export type Corkboard = Running & {
  readonly port: number;
  /** From the start of the process until it printed its address. */
  readonly listeningMs: number;
};

interface StartOptions {
  readonly logFile?: string;
  readonly options?: readonly string[];
  /** A module that is loaded first, and that exchanges messages with the benchmark. */
  readonly preload?: string;
  readonly program?: Program;
}

/**
 * Starts `corkboard serve` on a free port, with its defaults or the given options. It logs no
 * request unless asked to, like the servers beside it. Resolves when it has printed its address.
 */
export async function startCorkboard(
  dataDir: string,
  signal: AbortSignal,
  { logFile = '/dev/null', options = [], preload, program = THIS }: StartOptions = {},
): Promise<Corkboard> {
  await using log = await open(logFile, 'a');
  const startMs = performance.now();
  const quiet = options.includes('--log-level') ? [] : ['--log-level', 'warn'];
  const env = environmentOf(program);
  const args = [mainOf(program), 'serve', ...placeWords(dataDir), '--port', '0', ...quiet, ...options];
  const child =
    preload === undefined
      ? spawn(process.execPath, args, { stdio: ['ignore', 'pipe', log.fd], signal, env })
      : spawn(process.execPath, ['--import', preload, ...args], {
          stdio: ['ignore', 'pipe', log.fd, 'ipc'],
          env,
          signal,
        });
  const running = runningOf(child);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const refuse = () => reject(new Error('corkboard serve did not say where it listens.'));
  const timer = setTimeout(refuse, START_TIMEOUT_MS);
  child.once('error', reject).once('exit', refuse);
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    printed += part;
    const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1];
    if (found !== undefined) resolve(Number(found));
  });
  const port = await promise.finally(() => clearTimeout(timer));
  return { ...running, port, listeningMs: performance.now() - startMs };
}
