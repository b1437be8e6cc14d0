/** One of several workers: reports its state to the primary, and stops when the primary says so. */
import { AppError, type ErrorCode } from '../../domain/app-error.ts';

export type WorkerMessage =
  | { readonly type: 'listening'; readonly address: string }
  | { readonly type: 'failed'; readonly trouble: Trouble };

/** From the primary: let the responses in progress end. */
export const STOP = { type: 'stop' } as const;

/** An error as it passes between processes, which keep only part of it. */
interface Trouble {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** `code` and the like. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Runs `serve`, which gets a function that reports the address and waits for the stop. */
export async function runAsWorker(
  serve: (untilStopped: (address: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  // The terminal and systemd signal the whole process group; only the primary reacts.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  const stopped = new Promise<void>((resolve) => {
    process.on('message', (message: { readonly type?: unknown }) => {
      if (message.type === STOP.type) resolve();
    });
  });
  try {
    await serve((address) => {
      tell({ type: 'listening', address });
      return stopped;
    });
  } catch (error) {
    // The primary ends this process when it has read why.
    return tell({ type: 'failed', trouble: describeTrouble(error) });
  }
  process.disconnect();
}

function tell(message: WorkerMessage): void {
  process.send?.(message);
}

function describeTrouble(error: unknown): Trouble {
  if (!(error instanceof Error)) {
    return { name: 'Error', message: String(error), stack: undefined, details: {} };
  }
  const details = Object.entries(error).filter(([, value]) => /^(string|number)$/.test(typeof value));
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    details: Object.fromEntries(details),
  };
}

export function readTrouble({ name, message, stack, details }: Trouble): Error {
  if (name === 'AppError') {
    // The same program at the other end has taken it from an AppError.
    return new AppError(details['code'] as ErrorCode, message);
  }
  return Object.assign(new Error(message), { stack, ...details });
}
