/** One of several workers: reports its state to the primary, and stops at the primary's request. */
import { AppError, type ErrorCode } from '../../domain/app-error.ts';
import { shareMemory } from '../../system/machine-memory.ts';

/** The variable with the memory that was free before the first worker started, in bytes. */
export const SHARED_MEMORY = 'CORKBOARD_SHARED_MEMORY';

export type WorkerMessage =
  | { readonly type: 'listening'; readonly address: string }
  | { readonly type: 'failed'; readonly trouble: Trouble };

/** The primary sends this; the worker then lets the responses in progress end. */
export const STOP = { type: 'stop' } as const;

/** An error in the form sent between processes, which would keep only part of an `Error`. */
interface Trouble {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** Own properties of the error that are strings or numbers, like `code`. */
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Runs `serve` with a function that reports the address to the primary and resolves when the
 * primary requests the stop.
 */
export async function runAsWorker(
  serve: (untilStopped: (address: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const sharedBytes = Number(process.env[SHARED_MEMORY]);
  if (sharedBytes > 0) shareMemory(sharedBytes);
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
    // The primary kills this process when it has read the reason.
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
    // The worker runs the same program and took the code from an AppError.
    return new AppError(details['code'] as ErrorCode, message);
  }
  return Object.assign(new Error(message), { stack, ...details });
}
