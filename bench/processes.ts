/** The processes of a run, each bounded in time and ended with the run. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { readMemory } from './memory.ts';

const COMMAND_TIMEOUT_MS = 20 * 60_000;
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
const MEMORY_EVERY_MS = 20;
const MAIN = new URL('../src/cli/main.ts', import.meta.url).pathname;

export interface CommandOutcome {
  readonly stdout: string;
  readonly elapsedMs: number;
  /** Absent where the system does not tell. */
  readonly peakBytes: number | undefined;
}

/** Runs one `corkboard` command to its end. Throws when it fails or takes longer than twenty minutes. */
export async function runCorkboard(args: readonly string[], signal: AbortSignal): Promise<CommandOutcome> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_TIMEOUT_MS,
    signal,
  });
  let peakBytes: number | undefined;
  const watch = setInterval(() => {
    peakBytes = readMemory(child.pid ?? 0)?.peakBytes ?? peakBytes;
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

/** A process that runs until it is disposed of. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly pid: number;
}

/** Starts `corkboard serve` on a free port; resolves once it says where it listens. */
export async function startCorkboard(
  dataDir: string,
  signal: AbortSignal,
): Promise<Running & { readonly port: number }> {
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--data', dataDir, '--port', '0', '--log-level', 'error'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      signal,
    },
  );
  const running = runningOf(child);
  const port = await new Promise<number>((resolve, reject) => {
    const refuse = () => reject(new Error('corkboard serve did not say where it listens.'));
    const timer = setTimeout(refuse, START_TIMEOUT_MS);
    child.on('error', reject);
    child.once('exit', refuse);
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      printed += part;
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(Number(found));
    });
  });
  return { ...running, port };
}

/** Starts a module of this folder as a process that is talked to by messages. */
export function startModule(name: string, signal: AbortSignal): Running {
  return runningOf(fork(new URL(name, import.meta.url), { signal }));
}

/** Sends a message and takes the next one that comes. Throws when the process ends or takes too long instead. */
export async function ask<Answer>(running: Running, message: object, timeoutMs: number): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
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

function runningOf(child: ChildProcess): Running {
  // An abort is an error event of each child; the run ends by the signal itself.
  child.on('error', () => {});
  return {
    child,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill();
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}
