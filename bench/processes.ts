/** Runs temporary processes: their output, their port, and their end. */
import { type ChildProcess, fork, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

const STOP_TIMEOUT_MS = 10_000;
const LISTEN_TIMEOUT_MS = 60_000;
const LISTEN_EVERY_MS = 20;

/** A process that runs until it is disposed of. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly pid: number;
}

/** Whether a program is installed; runs it with its version option. */
export function hasProgram(name: string, versionFlag = '--version'): boolean {
  return spawnSync(name, [versionFlag], { stdio: 'ignore' }).error === undefined;
}

/** The first group of the pattern in the output of a program; empty if there is no match. */
export function readVersionLine(name: string, flag: string, pattern: RegExp): string {
  const { stdout, stderr } = spawnSync(name, [flag], { encoding: 'utf8' });
  return pattern.exec(`${stdout ?? ''}${stderr ?? ''}`)?.[1] ?? '';
}

/** Runs a program to its end and returns its standard output. Throws if it fails. */
export async function run(
  command: string,
  args: readonly string[],
  options: SpawnOptions & { readonly input?: string } = {},
): Promise<string> {
  const { input, ...rest } = options;
  const child = spawn(command, args, {
    ...rest,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'close'),
  ]);
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${(stderr || stdout).slice(-2000)}`);
  return stdout;
}

/** Starts a module of this folder as a process that exchanges messages. */
export function startModule(name: string, signal: AbortSignal): Running {
  return runningOf(fork(new URL(name, import.meta.url), { signal }));
}

/** Sends a message and returns the next one received. Throws if the process ends or times out. */
export async function ask<RenderedBody>(
  running: Running,
  message: object,
  timeoutMs: number,
): Promise<RenderedBody> {
  const { promise, resolve, reject } = Promise.withResolvers<RenderedBody>();
  const onExit = () => reject(new Error('A process of the benchmark ended too early.'));
  const timer = setTimeout(() => reject(new Error('A process of the benchmark took too long.')), timeoutMs);
  running.child.once('message', resolve);
  running.child.once('exit', onExit);
  running.child.send(message);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    running.child.off('message', resolve);
    running.child.off('exit', onExit);
  }
}

export function runningOf(child: ChildProcess): Running {
  // An abort emits an error on each child; the signal itself ends the run.
  child.on('error', () => {});
  return {
    child,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill();
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** A port that was free a moment ago. */
export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port was given.');
  return address.port;
}

/**
 * Resolves when the port accepts connections. Throws if the process ends first or takes longer than
 * a minute.
 */
export async function untilListening({ child }: Running, port: number): Promise<void> {
  const endMs = performance.now() + LISTEN_TIMEOUT_MS;
  while (performance.now() < endMs) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('It ended at once.');
    if (await accepts(port)) return;
    await new Promise((resolve) => setTimeout(resolve, LISTEN_EVERY_MS));
  }
  throw new Error('It did not listen within a minute.');
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const settle = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}
