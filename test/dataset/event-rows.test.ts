/** Rows of events give back what was written to them, up to the largest values that fit. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { addEventRows, fitsRows, makeEventRows, setEventRows } from '../../src/dataset/event-rows.ts';
import type { EventBatch } from '../../src/dataset/query.ts';
import { readSelection } from '../../src/dataset/timeline.ts';

const MOST_KINDS = 65_536;
const MOST_SEQUENCE = 2 ** 48 - 1;
const index = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const event = fc.record(
  {
    timestampMs: fc.double({ noNaN: true }),
    sequence: fc.oneof(fc.integer({ min: 0, max: MOST_SEQUENCE }), fc.constant(MOST_SEQUENCE)),
    kind: fc.integer({ min: 0, max: MOST_KINDS - 1 }),
    ...{ actor: index, owner: index, board: index },
    pin: fc.oneof(index, fc.constant(-1)),
  },
  { noNullPrototype: true },
);
type PlainEvent = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

function batchOf(events: readonly PlainEvent[]): EventBatch {
  const integers = (of: (one: PlainEvent) => number) => Int32Array.from(events, of);
  return {
    count: events.length,
    timestampMs: Float64Array.from(events, (one) => one.timestampMs),
    sequence: Float64Array.from(events, (one) => one.sequence),
    kind: integers((one) => one.kind),
    actor: integers((one) => one.actor),
    owner: integers((one) => one.owner),
    board: integers((one) => one.board),
    pin: integers((one) => one.pin),
  };
}

function* eventsOf(batch: EventBatch): Generator<PlainEvent> {
  const { timestampMs, sequence, kind, actor, owner, board, pin } = batch;
  for (let at = 0; at < batch.count; at++) {
    yield {
      ...{ timestampMs: timestampMs[at]!, sequence: sequence[at]!, kind: kind[at]! },
      ...{ actor: actor[at]!, owner: owner[at]!, board: board[at]!, pin: pin[at]! },
    };
  }
}

it('gives back events that were set or added, in a range or listed', async () => {
  const property = fc.asyncProperty(fc.array(event), fc.array(event), async (first, others) => {
    const set = makeEventRows(first.length);
    setEventRows(set, batchOf(first), 0);
    const places = new Int32Array(others.length).fill(first.length);
    const rows = await addEventRows(set, batchOf(others), places);
    const all = [...first, ...others];
    const read = (selected?: Int32Array) =>
      [...readSelection(rows, { from: 0, to: all.length, rows: selected })].flatMap((batch) => [
        ...eventsOf(batch),
      ]);
    assert.deepEqual(read(), all);
    assert.deepEqual(read(Int32Array.from(all.keys()).reverse()), all.toReversed());
  });
  await fc.assert(property);
});

it('gives back listed events up to a limit, in one batch or several', () => {
  const rows = makeEventRows(5000);
  const numbered = (sequence: number): PlainEvent => ({
    ...{ timestampMs: sequence, sequence, kind: sequence % 7, actor: sequence + 1, owner: sequence + 2 },
    ...{ board: sequence + 3, pin: sequence - 1 },
  });
  const all = Array.from({ length: 5000 }, (_, at) => numbered(at));
  setEventRows(rows, batchOf(all), 0);
  const reversed = Int32Array.from(all.keys()).reverse();
  for (const limit of [1, 127, 128, 129, 2048, 2049, 4999]) {
    const batches = readSelection(rows, { from: 1, to: 5000, rows: reversed }, { limit });
    const read = [...batches].flatMap((batch) => [...eventsOf(batch)]);
    assert.deepEqual(read, all.toReversed().slice(1, limit + 1));
  }
});

it('has room for 65,536 kinds and sequences of 48 bits', () => {
  const kinds = Array.from({ length: MOST_KINDS }, () => ({ type: 'pin', action: 'visited' }));
  assert.ok(fitsRows({ kinds, lastSequence: MOST_SEQUENCE }));
  assert.ok(!fitsRows({ kinds, lastSequence: MOST_SEQUENCE + 1 }));
  assert.ok(!fitsRows({ kinds: [...kinds, { type: 'pin', action: 'liked' }], lastSequence: 0 }));
});
