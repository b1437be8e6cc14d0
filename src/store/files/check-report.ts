/** What a check of a store reports. */
import { ASK_CHECK } from '../../domain/app-error.ts';

export interface CheckFinding {
  /** A note is no damage: something that the check cannot verify. */
  readonly level: 'damage' | 'note';
  /** Absent if it is about all organizations. */
  readonly organization: string | undefined;
  /** What was found, and what to do. */
  readonly message: string;
}

export interface CheckProgress {
  /** Called with the number of bytes that were read since the last call. */
  readonly onBytes: (bytes: number) => void;
}

/** Receives the findings about one organization. */
export interface CheckReport extends CheckProgress {
  readonly damage: (message: string) => void;
  readonly note: (message: string) => void;
}

/** The first line of the message, without a reference to the check itself. */
export function reasonOf(error: unknown): string {
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return reason.replace(ASK_CHECK, '').replace(/\.? *$/, '');
}
