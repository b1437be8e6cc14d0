/**
 * Runs the command line: inside the test process, to test what a command does and prints, or as a
 * separate process, as a script would.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { runHere } from './in-process.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
// Without a compile cache, compiling the same files again takes most of the time of a command.
export const COMPILE_CACHE = join(tmpdir(), 'corkboard-compile-cache');
// Keeps the tests from leaving versions in the local cache of the developer.
const VERSION_CACHE = mkdtempSync(join(tmpdir(), 'corkboard-version-cache-'));
process.once('exit', () => rmSync(VERSION_CACHE, { recursive: true, force: true }));

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  /** Text on standard input. */
  readonly input?: string;
  /** Whether standard input is taken for a terminal; only for commands in this process. */
  readonly isTerminal?: boolean;
  /** Called with each text on standard error; only for commands in this process. */
  readonly onRemark?: (text: string) => void;
  /** Added to the environment of the test; `undefined` removes a variable. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-cli-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function start(args: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], {
    env: {
      ...{ NODE_COMPILE_CACHE: COMPILE_CACHE, CORKBOARD_CACHE: VERSION_CACHE },
      ...process.env,
      ...environment,
    },
  });
}

/** Runs a command to its end in a separate process. */
export async function runProcess(
  args: readonly string[],
  { input = '', environment = {} }: Surroundings = {},
): Promise<Result> {
  const child = start(args, environment);
  const ended = once(child, 'close');
  child.stdin?.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  await ended;
  return { code: child.exitCode, stdout, stderr };
}

/**
 * Runs a command to its end in this process, one command at a time. Not for commands that serve or
 * run until a signal.
 */
export async function run(
  args: readonly string[],
  { input = '', environment = {}, ...others }: Surroundings = {},
): Promise<Result> {
  const cache = process.env['CORKBOARD_CACHE'] ?? VERSION_CACHE;
  return await runHere(args, {
    ...others,
    input,
    environment: { CORKBOARD_CACHE: cache, ...environment },
  });
}

/**
 * The JSON value that a command prints. Throws unless the command succeeds. Integers that a
 * `number` cannot hold exactly become `bigint`.
 */
// biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests are about
export async function runJson(args: readonly string[], input = ''): Promise<any> {
  const { code, stdout, stderr } = await run([...args, '--json'], { input });
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
  return JSON.parse(stdout, (_name, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? BigInt(context?.source ?? value)
      : value,
  );
}
