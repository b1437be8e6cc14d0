/** A fuzz target: a source of cases, and the judgement on each. */

import type { Random } from '../../bench/random.ts';
import { AppError } from '../../src/domain/app-error.ts';
import type { Sandbox } from './sandbox.ts';

/** A fault that a case has revealed. */
export interface Complaint {
  readonly kind:
    | 'exception'
    | 'escaped file'
    | 'temporary file left'
    | 'half published'
    | 'readings differ'
    | 'export not importable'
    | 'endless'
    | 'unbounded body'
    | 'stays broken'
    | 'memory'
    | 'hang'
    | 'crash';
  readonly what: string;
}

/** A case is plain data: written as JSON and read again, it runs the same. */
export interface OpenTarget<Case = unknown> extends AsyncDisposable {
  make(random: Random): Case;
  /** May change only files inside the sandbox. An error that it throws is a complaint, too. */
  run(one: Case, sandbox: Sandbox): Promise<readonly Complaint[]>;
}

export interface Target {
  readonly name: string;
  open(): Promise<OpenTarget>;
}

/** An expected error is no complaint; any other error is a bug. */
export function complaintsOf(error: unknown): readonly Complaint[] {
  if (error instanceof AppError && error.code !== 'internal') return [];
  return [{ kind: 'exception', what: describe(error) }];
}

const OWN_FRAME = /\/((?:src|dist|test)\/[^):]+:\d+)/;
const FIRST_FRAME = /^ +at .*$/m;

/**
 * Includes the nearest place in our code, or the place of the throw if none of our code is in the
 * stack.
 */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `thrown: ${String(error).slice(0, 200)}`;
  const stack = error.stack?.slice(error.message.length) ?? '';
  const place = OWN_FRAME.exec(stack)?.[1] ?? FIRST_FRAME.exec(stack)?.[0].trim() ?? 'unknown place';
  return `${error.name}: ${error.message.split('\n')[0]?.slice(0, 300)} (${place})`;
}

/** A key that is the same for all complaints of one kind: without numbers and quoted texts. */
export function sortOf({ kind, what }: Complaint): string {
  return `${kind}: ${what
    .replaceAll(/"[^"]*"|'[^']*'/g, '"…"')
    .replaceAll(/\d+/g, 'N')
    .slice(0, 160)}`;
}
