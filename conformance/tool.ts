/** Runs the external tools of this package, and other programs, as separate processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

export interface Outcome {
  readonly code: number | null;
  /** Standard output and standard error in the order of arrival, without colors. */
  readonly output: string;
}

/** A process that serves until it is stopped. */
export interface Running {
  /** The first match of the pattern in its output. */
  readonly announced: RegExpExecArray;
  stop(): Promise<void>;
}

const QUIET = {
  NO_COLOR: '1',
  FORCE_COLOR: '0',
  // By default, the linter checks for newer versions and sends telemetry.
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
};

const START_TIMEOUT_MS = 120_000;

/** Path of a program of this package, to run with Node. */
export function programOf(name: string): string {
  return join(import.meta.dirname, 'node_modules/.bin', name);
}

/** Runs a Node program to its end. */
export async function runTool(args: readonly string[], cwd: string): Promise<Outcome> {
  return await runProgram([process.execPath, ...args], cwd);
}

/** Runs any program to its end. The code is null if there is no such program. */
export async function runProgram(
  command: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { child, output } = start(command, cwd, environment);
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', resolve);
  });
  return { code, output: output() };
}

/** Starts a Node program and waits until its output matches the pattern. */
export async function startTool(
  args: readonly string[],
  cwd: string,
  announcement: RegExp,
  node = process.execPath,
): Promise<Running> {
  const { child, output } = start([node, ...args], cwd);
  const announced = await new Promise<RegExpExecArray>((resolve, reject) => {
    const fail = (reason: string) => reject(new Error(`${args[0]} ${reason}.\n${output()}`));
    const late = setTimeout(fail, START_TIMEOUT_MS, 'did not start in time');
    const look = () => {
      const match = announcement.exec(output());
      if (match === null) return;
      clearTimeout(late);
      child.stdout?.off('data', look);
      resolve(match);
    };
    child.stdout?.on('data', look);
    child.once('close', (code) => {
      clearTimeout(late);
      fail(`ended with ${code}`);
    });
  });
  return { announced, stop: () => stop(child) };
}

function start(
  [program = '', ...args]: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...QUIET, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { child, output: () => stripVTControlCharacters(Buffer.concat(chunks).toString()) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
}
