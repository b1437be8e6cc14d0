/** Time slicing, with a clock that the test moves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  atOnce,
  inSlices,
  inSlicesOf,
  SLICE_MS,
  type Steps,
  TimeSlice,
  TURNS_BETWEEN,
} from '../src/system/time-slice.ts';
import { withTimeRunning } from './running-time.ts';

describe('a slice of time', () => {
  it('is over when its time has passed since the clock was first read', () => {
    let nowMs = 0;
    const own = new TimeSlice(() => nowMs);
    nowMs = 100;
    assert.equal(own.isOver(), false);
    nowMs += SLICE_MS - 1;
    assert.equal(own.isOver(), false);
    nowMs += 1;
    assert.equal(own.isOver(), true);
  });

  it('begins again after some turns of the event loop, for all work together', async () => {
    let nowMs = 0;
    const own = new TimeSlice(() => nowMs);
    own.isOver();
    nowMs += SLICE_MS;
    assert.equal(own.isOver(), true);
    for (let nth = 1; nth < TURNS_BETWEEN; nth++) await turn();
    assert.equal(own.isOver(), true);
    await turn();
    assert.equal(own.isOver(), false);
    nowMs += SLICE_MS;
    assert.equal(own.isOver(), true);
  });

  it('continues one waiting task in each turn, the oldest first, until it is over', async () => {
    const own = new TimeSlice(() => 0);
    const happened: string[] = [];
    const work = async (name: string) => {
      for (let part = 1; part <= 2; part++) {
        await own.pass();
        happened.push(`${name}${part}`);
      }
    };
    const others = async () => {
      for (let nth = 1; nth <= 4; nth++) {
        await turn();
        happened.push(`turn ${nth}`);
      }
    };
    await Promise.all([others(), work('a'), work('b')]);
    assert.deepEqual(happened, ['turn 1', 'a1', 'turn 2', 'b1', 'turn 3', 'a2', 'turn 4', 'b2']);
  });

  it('leaves many turns to other work after a task that has used it up', async () => {
    let nowMs = 0;
    const own = new TimeSlice(() => nowMs);
    own.isOver();
    nowMs += SLICE_MS;
    let isResumed = false;
    const passed = own.pass().then(() => {
      isResumed = true;
    });
    for (let nth = 1; nth < TURNS_BETWEEN; nth++) await turn();
    assert.equal(isResumed, false);
    await passed;
  });
});

describe('work in slices of time', () => {
  const turnsOf = (rows: number, atOnce: number) =>
    withTimeRunning(() => inSlices(0, rows, () => undefined, atOnce));

  it('is split into adjacent parts', async () => {
    const parts: number[][] = [];
    await inSlices(3, 11, (from, to) => parts.push([from, to]), 3);
    assert.deepEqual(parts, [
      [3, 6],
      [6, 9],
      [9, 11],
    ]);
    await inSlices(3, 3, () => assert.fail('there is nothing to do'));
  });

  it('yields whenever its time is over, and never for few rows', async () => {
    assert.equal((await turnsOf(10, 10)).turns, 0);
    assert.ok((await turnsOf(100, 10)).turns >= 8);
  });

  it('has the same result as without pauses', async () => {
    function* count(): Steps<number> {
      let steps = 0;
      for (; steps < 10; steps++) yield;
      return steps;
    }
    assert.equal(atOnce(count()), 10);
    const { result, turns } = await withTimeRunning(() => inSlicesOf(count()));
    assert.equal(result, 10);
    assert.ok(turns >= 8);
  });
});
