/** Many small requests on several connections, with wrk if installed, or with our own client. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClientMessage } from './client.ts';
import { ask, hasProgram, readVersionLine, run, startModule } from './processes.ts';

const LUA = new URL('./wrk.lua', import.meta.url).pathname;
/** The timeout is this plus the planned duration of a load. */
const PATIENCE_MS = 120_000;

export interface Load {
  readonly port: number;
  /** Requested in turn from `first` on: each a path, or a path, a tab and the body of a POST. */
  readonly paths: readonly string[];
  readonly first: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  /** Minimum size of a response; a smaller one ends the measurement. */
  readonly leastBytes: number;
  readonly connections: number;
  readonly seconds: number;
  /** Pause of every connection after each response. */
  readonly pauseMs?: number;
}

export interface LoadFigures {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadClient extends AsyncDisposable {
  readonly title: string;
  /** Throws if a response is not the expected one. */
  measure(load: Load): Promise<LoadFigures>;
}

/** `folder` is for the files with the lists of requests. */
export function openLoadClient(folder: string, signal: AbortSignal): LoadClient {
  return hasProgram('wrk') ? openWrk(folder, signal) : openOwnClient(signal);
}

function openWrk(folder: string, signal: AbortSignal): LoadClient {
  const files = new Map<readonly string[], string>();
  return {
    title: `wrk ${readVersionLine('wrk', '--version', /wrk \S*?(\d[\d.]*)/)} on one thread`,
    async measure(load) {
      const file = files.get(load.paths) ?? join(folder, `questions-${files.size}`);
      if (!files.has(load.paths)) await writeFile(file, load.paths.join('\n'));
      files.set(load.paths, file);
      const output = await run(
        'wrk',
        [
          ...['--threads', '1', '--connections', `${load.connections}`, '--duration', `${load.seconds}s`],
          ...['--timeout', '60s', '--latency', '--script', LUA],
          ...Object.entries(load.headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
          `http://127.0.0.1:${load.port}/`,
          ...['--', file, `${load.first}`, `${load.pauseMs ?? 0}`],
        ],
        { signal },
      );
      return readWrk(output, load);
    },
    async [Symbol.asyncDispose]() {},
  };
}

function readWrk(output: string, load: Load): LoadFigures {
  const line = output.split('\n').find((one) => one.startsWith('{'));
  if (line === undefined) throw new Error(`wrk gave no figures: ${output}`);
  const path = load.paths[0]?.split('\t')[0];
  const { requests, us, bytes, p50Us, p99Us, failures, refusals } = JSON.parse(line);
  if (failures + refusals > 0 || requests === 0) {
    throw new Error(`${path}: of ${requests} requests ${failures} failed and ${refusals} were refused.`);
  }
  // A response with 304 has no body, so the mean size shows whether some had status 200.
  if (bytes < requests * load.leastBytes || (load.status === 304 && bytes > requests * 1000)) {
    throw new Error(`${path}: ${requests} answers have ${bytes} bytes.`);
  }
  return {
    requests,
    requestsPerSecond: requests / (us / 1e6),
    p50Ms: p50Us / 1000,
    p99Ms: p99Us / 1000,
  };
}

function openOwnClient(signal: AbortSignal): LoadClient {
  const client = startModule('./client.ts', signal);
  return {
    title: 'the client of bench/client.ts (wrk is not installed)',
    async measure(load) {
      const message = await ask<ClientMessage>(client, load, load.seconds * 1000 + PATIENCE_MS);
      if ('failure' in message) throw new Error(message.failure);
      return message.figures;
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
