/** Counts that several threads take equal those of one thread. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { AppError } from '../../src/domain/app-error.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { countActivity, countReturning } from '../../src/insights/activity.ts';
import { CountThreads } from '../../src/insights/count-threads.ts';
import { type Groups, groupsOf, noGroups } from '../../src/insights/groups.ts';
import { countHoursOfWeek } from '../../src/insights/heat-map.ts';
import { summarize } from '../../src/insights/overview.ts';
import { INTERVALS, type Interval, Periods } from '../../src/insights/periods.ts';
import { ORDERS, rank } from '../../src/insights/ranking.ts';
import type { Asked } from '../../src/insights/scan.ts';
import { DatasetInMemory } from '../render/dataset-in-memory.ts';
import type { PlainEvent } from '../render/plain-dataset.ts';
import { worldOf } from '../render/worlds.ts';

const USERS = 40;
const BOARDS = 4;
const PINS = 5;
/** The clocks of Vienna go forward during the day that follows. */
const START_MS = Date.UTC(2018, 2, 24, 12);
const HOUR_MS = 3_600_000;

const threads = new CountThreads({ threads: 3, leastEvents: 1 });
after(() => threads.close());

async function load(events: readonly PlainEvent[]): Promise<DatasetInMemory> {
  const world = worldOf(1);
  return await new DatasetInMemory({
    ...world,
    people: Array.from({ length: USERS }, (_, user) => ({
      ...world.people[0]!,
      ...{ id: BigInt(user), email: `user${user}@example.org`, role: `role ${user % 3}` },
    })),
    boards: Array.from({ length: BOARDS }, (_, board) => ({ ...world.boards[0]!, id: BigInt(board) })),
    pins: Array.from({ length: PINS }, (_, pin) => ({ ...world.pins[0]!, id: BigInt(pin) })),
    events: events.toSorted((one, other) => one.timestampMs - other.timestampMs),
  }).load();
}

/** Minutes are few, so that periods are shared by events of different threads. */
const event = fc.record({
  kind: fc.nat({ max: 1 }),
  actor: fc.nat({ max: USERS - 1 }),
  owner: fc.nat({ max: USERS - 1 }),
  board: fc.nat({ max: BOARDS - 1 }),
  pin: fc.integer({ min: -1, max: PINS - 1 }),
  timestampMs: fc.nat({ max: 60 * 40 }).map((minutes) => START_MS + minutes * 60_000),
});

const bound = fc.option(
  fc.integer({ min: -2, max: 42 }).map((hours) => START_MS + hours * HOUR_MS),
  { nil: undefined },
);

/** Users by the parity of their index; the counts of a single one are added to the second group. */
const FEW: Groups = {
  column: 'actor',
  groupOf: Int32Array.from({ length: USERS }, (_, user) => user % 2),
  names: ['even', undefined],
  fewestActors: 2,
};

interface Case {
  readonly zone: string;
  readonly interval: Interval;
}

async function allCounts(dataset: DatasetInMemory, asked: Asked, { zone, interval }: Case) {
  const periods = () => new Periods(interval, zone);
  return {
    overview: await summarize(dataset, asked),
    hours: await countHoursOfWeek(dataset, asked, zone),
    activity: await countActivity(dataset, asked, periods(), noGroups(dataset)),
    boards: await countActivity(dataset, asked, periods(), await groupsOf(dataset, 'board', asked, 2)),
    roles: await countActivity(dataset, asked, periods(), await groupsOf(dataset, 'role', asked, 2)),
    few: await countActivity(dataset, asked, periods(), FEW),
    returning: await countReturning(dataset, asked, periods()),
    ranked: await Promise.all(
      ORDERS.flatMap((order) =>
        (['board', 'actor'] as const).map((by) => rank(dataset, asked, by, { order, most: 3 })),
      ),
    ),
  };
}

describe('counts of several threads', () => {
  it('equal those of one thread', async () => {
    const property = fc.asyncProperty(
      fc.array(event, { minLength: 1, maxLength: 60 }),
      fc.tuple(bound, bound),
      fc.constantFrom(undefined, 'visited', 'followed'),
      fc.record({ zone: fc.constantFrom('UTC', 'Europe/Vienna'), interval: fc.constantFrom(...INTERVALS) }),
      async (events, [startMs, endMs], action, one) => {
        const dataset = await load(events);
        const asked = { scope: FULL_SCOPE, range: { startMs, endMs }, action };
        fc.pre(startMs === undefined || endMs === undefined || startMs <= endMs);
        const expected = await allCounts(dataset, asked, one);
        assert.deepEqual(await allCounts(dataset, { ...asked, threads }, one), expected);
      },
    );
    await fc.assert(property);
  });

  it('count somebody once who acts in a period that all threads share', async () => {
    const events = Array.from({ length: 9 }, (_, minute) => ({
      ...{ kind: 0, actor: minute % 2, owner: 0, board: 0, pin: 0 },
      timestampMs: START_MS + minute * 60_000,
    }));
    const dataset = await load(events);
    const asked = { scope: FULL_SCOPE, range: {}, threads };
    const { people } = await countActivity(dataset, asked, new Periods('day', 'UTC'), noGroups(dataset));
    assert.deepEqual(people, [2]);
    const { newcomers, returning } = await countReturning(dataset, asked, new Periods('day', 'UTC'));
    assert.deepEqual([newcomers, returning], [[2], [0]]);
  });

  it('are refused with the same error', async () => {
    const events = [0, 1, 10_001].map((hours) => ({
      ...{ kind: 0, actor: 0, owner: 0, board: 0, pin: 0 },
      timestampMs: START_MS + hours * HOUR_MS,
    }));
    const dataset = await load(events);
    const pair = new CountThreads({ threads: 2, leastEvents: 1 });
    // The second of two threads alone has too many periods; of three, none has.
    for (const some of [undefined, pair, threads]) {
      const asked = { scope: FULL_SCOPE, range: {}, threads: some };
      await assert.rejects(
        countReturning(dataset, asked, new Periods('hour', 'UTC')),
        (error) => error instanceof AppError && error.code === 'range-too-fine',
      );
    }
    await pair.close();
  });
});

describe('threads that count', () => {
  const few = Array.from({ length: 9 }, () => ({
    ...{ kind: 0, actor: 1, owner: 0, board: 0, pin: 0, timestampMs: START_MS },
  }));

  it('fail the count if they die, and are started again for the next one', async () => {
    const own = new CountThreads({ threads: 2, leastEvents: 1 });
    const dataset = await load(few);
    const asked = { scope: FULL_SCOPE, range: {}, threads: own };
    const counted = summarize(dataset, asked);
    await Promise.all([assert.rejects(counted, /thread/), own.close()]);
    assert.equal((await summarize(dataset, asked)).events, few.length);
    await own.close();
  });

  it('leave selections of few events to the thread that asks', async () => {
    const own = new CountThreads({ threads: 2, leastEvents: few.length + 1 });
    own.count = () => assert.fail('The threads were asked.');
    const asked = { scope: FULL_SCOPE, range: {}, threads: own };
    assert.equal((await summarize(await load(few), asked)).events, few.length);
  });

  it('do not keep a process alive', async () => {
    const module = new URL('../../src/insights/count-threads.ts', import.meta.url).href;
    const script = `
      import { CountThreads } from '${module}';
      const memory = new SharedArrayBuffer(0);
      const events = { count: 0, words: new Int32Array(memory), doubles: new Float64Array(memory) };
      const counter = { name: 'occurrences' };
      const input = { by: 'actor', size: 1, wanted: new Uint8Array() };
      const counts = await new CountThreads({ threads: 2 }).count({ version: '', events, selection: { from: 0, to: 0 } }, counter, input);
      console.log(counts.length);`;
    // Rejects if the process must be killed.
    const { stdout } = await promisify(execFile)(process.execPath, ['--eval', script], {
      timeout: 60_000,
    });
    assert.equal(stdout, '2\n');
  });
});
