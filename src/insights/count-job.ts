/** Jobs of a thread that counts events: rows of a timeline, in shared memory, and a counter. */
import type { EventRows } from '../dataset/event-rows.ts';
import type { Selection } from '../dataset/selection.ts';
import type { ErrorCode } from '../domain/app-error.ts';

/** Events of a version. */
export interface SelectedEvents {
  readonly version: string;
  readonly events: EventRows;
  readonly selection: Selection;
}

export interface CountOrder extends SelectedEvents {
  readonly job: number;
  /** Name of the counter, and its input. */
  readonly counter: string;
  readonly input: unknown;
}

export type CountReply =
  | { readonly type: 'counted'; readonly job: number; readonly part: unknown }
  /** The counter has thrown an `AppError`. */
  | { readonly type: 'refused'; readonly job: number; readonly code: ErrorCode; readonly message: string };
