/** A summary of the events in a few counts. */
import type { Dataset } from '../dataset/dataset.ts';
import type { EventKind } from '../dataset/records.ts';
import { inSlices } from '../system/time-slice.ts';
import type { Counter } from './counter.ts';
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
    people: await countFlags(parts.map(({ people }) => people)),
    boards: await countFlags(parts.map(({ boards }) => boards)),
    pins: await countFlags(parts.map(({ pins }) => pins)),
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

/** The number of indices with a flag in at least one part. */
async function countFlags(parts: readonly Uint8Array[]): Promise<number> {
  const [first, ...others] = parts;
  let count = 0;
  await inSlices(0, first!.length, (from, to) => {
    for (let index = from; index < to; index++) {
      let flag = first![index]!;
      for (const other of others) flag |= other[index]!;
      count += flag;
    }
  });
  return count;
}

interface OverviewInput {
  readonly counts: Dataset['counts'];
  readonly wanted: Uint8Array;
}

interface OverviewPart {
  readonly ofKind: Float64Array;
  /** By index: 1 if it occurs. */
  readonly people: Uint8Array;
  readonly boards: Uint8Array;
  readonly pins: Uint8Array;
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
}

export const OVERVIEW: Counter<OverviewInput, OverviewPart> = {
  name: 'overview',
  start({ counts, wanted }) {
    const ofKind = new Float64Array(wanted.length);
    const people = new Uint8Array(counts.users);
    const boards = new Uint8Array(counts.boards);
    const pins = new Uint8Array(counts.pins);
    let firstMs: number | undefined;
    let lastMs: number | undefined;
    return {
      see({ count, stride, instantStride, kind, actor, board, pin, timestampMs }) {
        for (let row = 0; row < count; row++) {
          const at = row * stride;
          if (wanted[kind[at]!] === 0) continue;
          ofKind[kind[at]!]! += 1;
          people[actor[at]!] = 1;
          boards[board[at]!] = 1;
          if (pin[at]! >= 0) pins[pin[at]!] = 1;
          firstMs ??= timestampMs[row * instantStride]!;
          lastMs = timestampMs[row * instantStride]!;
        }
      },
      end: () => ({ ofKind, people, boards, pins, firstMs, lastMs }),
    };
  },
};
