/** A summary of the events in a few counts. */
import type { Dataset } from '../dataset/dataset.ts';
import { type Asked, kindsOf, scanEvents } from './scan.ts';

export interface Overview {
  readonly events: number;
  /** Numbers of actors, and of the boards and pins of their events. */
  readonly people: number;
  readonly boards: number;
  readonly pins: number;
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  /** Events by action, the most frequent action first. */
  readonly actions: readonly { readonly action: string; readonly events: number }[];
}

export async function summarize(dataset: Dataset, asked: Asked): Promise<Overview> {
  const { counts, kinds } = dataset;
  const wanted = kindsOf(dataset, asked.action);
  const seen = {
    people: new Uint8Array(counts.users),
    boards: new Uint8Array(counts.boards),
    pins: new Uint8Array(counts.pins),
  };
  const ofKind = new Float64Array(kinds.length);
  let firstMs: number | undefined;
  let lastMs: number | undefined;
  await scanEvents(dataset, asked, ({ count, kind, actor, board, pin, timestampMs }) => {
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0) continue;
      ofKind[kind[row]!]! += 1;
      seen.people[actor[row]!] = 1;
      seen.boards[board[row]!] = 1;
      if (pin[row]! >= 0) seen.pins[pin[row]!] = 1;
      firstMs ??= timestampMs[row]!;
      lastMs = timestampMs[row]!;
    }
  });
  const ofAction = new Map<string, number>();
  for (const [kind, { action }] of kinds.entries()) {
    if (ofKind[kind] === 0) continue;
    ofAction.set(action, (ofAction.get(action) ?? 0) + ofKind[kind]!);
  }
  return {
    events: ofKind.reduce((sum, events) => sum + events, 0),
    people: countFlags(seen.people),
    boards: countFlags(seen.boards),
    pins: countFlags(seen.pins),
    firstMs,
    lastMs,
    actions: [...ofAction]
      .map(([action, events]) => ({ action, events }))
      .sort((one, other) => other.events - one.events || (one.action < other.action ? -1 : 1)),
  };
}

function countFlags(flags: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < flags.length; index++) count += flags[index]!;
  return count;
}
