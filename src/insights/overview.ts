/** A summary of the events in a few counts. */
import type { Dataset } from '../dataset/dataset.ts';
import type { EventKind } from '../dataset/records.ts';
import type { Counter } from './counter.ts';
import { IndexSet, sizeOfUnion } from './index-set.ts';
import { type Asked, countSelected, kindsOf } from './scan.ts';

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
  const parts = await countSelected(dataset, asked, OVERVIEW, {
    counts,
    wanted: kindsOf(dataset, asked.action),
  });
  const ofKind = new Float64Array(kinds.length);
  for (const part of parts) for (const [kind, events] of part.ofKind.entries()) ofKind[kind]! += events;
  return {
    events: ofKind.reduce((sum, events) => sum + events, 0),
    people: await sizeOfUnion(parts.map(({ people }) => people)),
    boards: await sizeOfUnion(parts.map(({ boards }) => boards)),
    pins: await sizeOfUnion(parts.map(({ pins }) => pins)),
    firstMs: parts.find(({ firstMs }) => firstMs !== undefined)?.firstMs,
    lastMs: parts.findLast(({ lastMs }) => lastMs !== undefined)?.lastMs,
    actions: actionsOf(kinds, ofKind),
  };
}

function actionsOf(kinds: readonly EventKind[], ofKind: Float64Array): Overview['actions'] {
  const ofAction = new Map<string, number>();
  for (const [kind, { action }] of kinds.entries()) {
    if (ofKind[kind] === 0) continue;
    ofAction.set(action, (ofAction.get(action) ?? 0) + ofKind[kind]!);
  }
  return [...ofAction]
    .map(([action, events]) => ({ action, events }))
    .sort((one, other) => other.events - one.events || (one.action < other.action ? -1 : 1));
}

interface OverviewInput {
  readonly counts: Dataset['counts'];
  readonly wanted: Uint8Array;
}

interface OverviewPart {
  readonly ofKind: Float64Array;
  /** The words of the sets of those that occur. */
  readonly people: Int32Array;
  readonly boards: Int32Array;
  readonly pins: Int32Array;
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
}

export const OVERVIEW: Counter<OverviewInput, OverviewPart> = {
  name: 'overview',
  start({ counts, wanted }) {
    const ofKind = new Float64Array(wanted.length);
    const people = new IndexSet(counts.users);
    const boards = new IndexSet(counts.boards);
    const pins = new IndexSet(counts.pins);
    let firstMs: number | undefined;
    let lastMs: number | undefined;
    return {
      see({ count, stride, kindStride, instantStride, kind, actor, board, pin, timestampMs }) {
        for (let row = 0; row < count; row++) {
          const at = row * stride;
          const index = kind[row * kindStride]!;
          if (wanted[index] === 0) continue;
          ofKind[index]! += 1;
          people.add(actor[at]!);
          boards.add(board[at]!);
          if (pin[at]! >= 0) pins.add(pin[at]!);
          firstMs ??= timestampMs[row * instantStride]!;
          lastMs = timestampMs[row * instantStride]!;
        }
      },
      end: () => ({
        ...{ ofKind, firstMs, lastMs },
        ...{ people: people.words, boards: boards.words, pins: pins.words },
      }),
    };
  },
};
