/**
 * Runs the command line inside the test process and restores the process afterwards: arguments,
 * environment, exit code, streams, title and signal listeners. Behavior of the process itself
 * (signals, broken pipes, workers) cannot be tested this way.
 */
import { Readable, Writable } from 'node:stream';
import { type BuildProgram, runProgram } from '../../src/cli/program-run.ts';
import type { Result, Surroundings } from './command.ts';

/** What is replaced for a command. */
type Replaced = Surroundings & Required<Pick<Surroundings, 'input' | 'environment'>>;

const STREAMS = ['stdin', 'stdout', 'stderr'] as const;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let turn: Promise<unknown> = Promise.resolve();

/**
 * Runs after the commands that were started before: they share the state of the process. `build`
 * makes a program other than `corkboard`.
 */
export function runHere(
  args: readonly string[],
  surroundings: Replaced,
  build?: BuildProgram,
): Promise<Result> {
  const result = turn.then(() => runAlone(args, surroundings, build));
  turn = result.catch(() => undefined);
  return result;
}

async function runAlone(
  args: readonly string[],
  surroundings: Replaced,
  build?: BuildProgram,
): Promise<Result> {
  using restored = new DisposableStack();
  const { argv, exitCode, title } = process;
  restored.defer(() => Object.assign(process, { argv, exitCode }));
  restored.defer(() => {
    // Setting the title, even to its current value, changes the process list.
    if (process.title !== title) process.title = title;
  });
  restored.defer(replaceEnvironment(surroundings.environment));
  restored.defer(keepListeners());
  const stdout = new Gathered();
  const stderr = new Gathered(surroundings.onRemark);
  const stdin = Readable.from([Buffer.from(surroundings.input)], { objectMode: false });
  if (surroundings.isTerminal) Object.assign(stdin, { isTTY: true });
  restored.defer(replaceStreams({ stdin, stdout, stderr }));
  process.argv = [...argv.slice(0, 2), ...args];
  process.exitCode = undefined;
  await runProgram(build);
  return { code: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() };
}

/** Collects written output. */
class Gathered extends Writable {
  readonly #chunks: Buffer[] = [];
  readonly #onText: (text: string) => void;

  constructor(onText: (text: string) => void = () => undefined) {
    super();
    this.#onText = onText;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    this.#onText(chunk.toString());
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

function replaceEnvironment(changes: NodeJS.ProcessEnv): () => void {
  const before = { ...process.env };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  return () => {
    for (const name of Object.keys(changes)) {
      const value = before[name];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

/** Removes listeners for signals that were added in the meantime. */
function keepListeners(): () => void {
  const before = SIGNALS.map((signal) => process.listeners(signal));
  return () => {
    for (const [at, signal] of SIGNALS.entries()) {
      for (const listener of process.listeners(signal)) {
        if (before[at]?.includes(listener) !== true) process.off(signal, listener);
      }
    }
  };
}

function replaceStreams(streams: Readonly<Record<(typeof STREAMS)[number], unknown>>): () => void {
  const before = STREAMS.map((name) => Object.getOwnPropertyDescriptor(process, name)!);
  for (const name of STREAMS) {
    Object.defineProperty(process, name, { configurable: true, enumerable: true, value: streams[name] });
  }
  return () => {
    for (const [at, name] of STREAMS.entries()) Object.defineProperty(process, name, before[at]!);
  };
}
