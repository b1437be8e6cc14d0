/**
 * Loaded into a server before its own code (`--import`). Measures how long its event loop is
 * blocked, in wall-clock time and in CPU time of its main thread, which other processes do not
 * affect. Responds to each message with the longest stalls since the last one.
 */
import { isMainThread } from 'node:worker_threads';

export interface Stalls {
  readonly wallMs: number;
  readonly cpuMs: number;
}

const TICK_MS = 1;

if (isMainThread && process.send !== undefined) watch();

function watch(): void {
  let longest: Stalls = { wallMs: 0, cpuMs: 0 };
  let last = read();
  const look = (): void => {
    const now = read();
    const wallMs = now.wallMs - last.wallMs;
    longest = {
      wallMs: Math.max(longest.wallMs, wallMs),
      cpuMs: Math.max(longest.cpuMs, now.cpuMs - last.cpuMs),
    };
    last = now;
  };
  setInterval(look, TICK_MS).unref();
  process.on('message', () => {
    look();
    process.send?.(longest);
    longest = { wallMs: 0, cpuMs: 0 };
    last = read();
  });
  process.channel?.unref();
}

function read(): Stalls {
  const { user, system } = process.threadCpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1000 };
}
