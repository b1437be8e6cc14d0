/** Selections of events in memory: narrowed to what was found in them, and viewed in place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type EventRows,
  type EventView,
  makeEventRows,
  setEventRows,
  viewOfBatch,
} from '../../src/dataset/event-rows.ts';
import type { EventBatch } from '../../src/dataset/query.ts';
import { tallySelection } from '../../src/dataset/resident/events.ts';
import type { Selection } from '../../src/dataset/selection.ts';
import { readSelection, streamViews, viewSelection } from '../../src/dataset/timeline.ts';

const COUNT = 5_000;
const SIZES = { kinds: 4, users: 6, boards: 3, pins: 5 };

function makeEvents(count: number): EventRows {
  const events = makeEventRows(count);
  const numbers = (below: number, least = 0) =>
    Int32Array.from({ length: count }, (_, row) => ((row * 7919) % (below - least)) + least);
  setEventRows(
    events,
    {
      count,
      kind: numbers(SIZES.kinds),
      actor: numbers(SIZES.users),
      owner: numbers(SIZES.users - 1),
      board: numbers(SIZES.boards),
      pin: numbers(SIZES.pins, -1),
      timestampMs: Float64Array.from({ length: count }, (_, row) => row),
      sequence: Float64Array.from({ length: count }, (_, row) => (row * 31) % count),
    },
    0,
  );
  return events;
}

const events = makeEvents(COUNT);

const flags = (length: number) =>
  fc.option(
    fc.array(fc.nat(1), { minLength: length, maxLength: length }).map((bits) => Uint8Array.from(bits)),
    { nil: undefined },
  );

const selections = fc
  .record({
    ends: fc.tuple(fc.nat(COUNT), fc.nat(COUNT)).map((ends) => ends.sort((one, other) => one - other)),
    step: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    boards: flags(SIZES.boards),
    people: flags(SIZES.users),
    kinds: flags(SIZES.kinds),
    pinsOnly: fc.boolean(),
    upToSequence: fc.option(fc.nat(COUNT), { nil: undefined }),
  })
  .map(({ ends, step, ...filter }): Selection => {
    const length = step === undefined ? COUNT : Math.floor(COUNT / step);
    const rows = step === undefined ? undefined : Int32Array.from({ length }, (_, at) => at * step);
    return { ...filter, rows, from: Math.min(ends[0]!, length), to: Math.min(ends[1]!, length) };
  });

function timestamps(batches: Iterable<EventBatch>): number[] {
  return [...batches].flatMap(({ timestampMs }) => Array.from(timestampMs));
}

test('a tally finds the same events as its selection, in every subrange', async () => {
  await fc.assert(
    fc.asyncProperty(selections, fc.nat(COUNT), fc.nat(COUNT), async (selection, one, other) => {
      const { selection: found, events: count } = await tallySelection(events, selection, SIZES);
      const expected = timestamps(readSelection(events, selection));
      assert.equal(count, expected.length);
      if (found === undefined) return;
      assert.deepEqual(timestamps(readSelection(events, found)), expected);
      const from = Math.min(selection.from + Math.min(one, other), selection.to);
      const to = Math.min(selection.from + Math.max(one, other), selection.to);
      assert.deepEqual(
        timestamps(readSelection(events, { ...found, from, to })),
        timestamps(readSelection(events, { ...selection, from, to })),
      );
    }),
  );
});

/** All that a view says, event by event. */
function eventsOf({ count, stride, kindStride, instantStride, ...columns }: EventView): number[][] {
  return Array.from({ length: count }, (_, row) => [
    columns.timestampMs[row * instantStride]!,
    columns.kind[row * kindStride]!,
    ...(['actor', 'board', 'pin'] as const).map((field) => columns[field][row * stride]!),
  ]);
}

function copiedEvents(rows: EventRows, selection: Selection): number[][] {
  return Array.from(readSelection(rows, selection), (batch) => eventsOf(viewOfBatch(batch))).flat();
}

test('a selection is viewed as it is read', () => {
  fc.assert(
    fc.property(selections, (selection) => {
      const viewed = Array.from(viewSelection(events, selection), eventsOf).flat();
      assert.deepEqual(viewed, copiedEvents(events, selection));
    }),
  );
});

test('more events than one view has are viewed in order', async () => {
  const many = makeEvents(70_001);
  const whole = { from: 3, to: 70_001 };
  const expected = copiedEvents(many, whole);
  assert.equal(expected.length, 69_998);
  assert.deepEqual(Array.from(viewSelection(many, whole), eventsOf).flat(), expected);
  const streamed: number[][] = [];
  for await (const view of streamViews(many, whole)) streamed.push(...eventsOf(view));
  assert.deepEqual(streamed, expected);
});
