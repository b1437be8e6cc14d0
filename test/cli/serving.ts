/** A command that serves, in a separate process, and its output. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { start } from './command.ts';

export interface Serving {
  readonly child: ChildProcess;
  /** The lines printed at the start, by the text before their colon. */
  readonly printed: Readonly<Record<string, string>>;
  /** Lines on standard error so far: log lines, parsed, and all others in `remarks`. */
  readonly log: readonly Record<string, unknown>[];
  readonly remarks: readonly string[];
}

/** Starts a command that serves on a free port, and waits until it has printed its last line. */
export async function serving(
  t: { after(end: () => void): void },
  args: readonly string[],
  last = 'Reference',
): Promise<Serving> {
  const child = start([...args, '--port', '0']);
  t.after(() => child.kill('SIGKILL'));
  const log: Record<string, unknown>[] = [];
  const remarks: string[] = [];
  createInterface({ input: child.stderr! }).on('line', (line) => {
    if (line.startsWith('{')) log.push(JSON.parse(line));
    else remarks.push(line);
  });
  const printed: Record<string, string> = {};
  for await (const line of createInterface({ input: child.stdout! })) {
    const [, name = '', value = ''] = /^(\w[\w ]*): +(.*)$/.exec(line) ?? [];
    printed[name] = value;
    if (name === last) return { child, printed, log, remarks };
  }
  throw new Error(`it ended: ${remarks.join('\n')}`);
}

/** Sends the signal, and fails unless the command then ends with exit code 0. */
export async function stop({ child, remarks }: Serving, signal: NodeJS.Signals): Promise<void> {
  const ends = [once(child, 'exit'), once(child.stderr!, 'close')];
  child.kill(signal);
  await Promise.all(ends);
  const ended = [`exit code ${child.exitCode}`, `signal ${child.signalCode}`, ...remarks].join('\n');
  assert.equal(child.exitCode, 0, `it ended after ${signal} with ${ended}`);
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Sends a request on a connection of its own, so that any worker may receive it. */
export async function ask(url: string, key = ''): Promise<Reply> {
  const headers = key === '' ? {} : { apikey: key };
  const request = get(url, { agent: false, headers });
  const [response] = await once(request, 'response');
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}
