import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openRendering } from '../../src/render/rendering.ts';
import { Workshop } from '../../src/render/workshop.ts';
import { EVENTS, EVERYTHING, ONE_BOARD, ResidentPlainDataset, START_MS, unpacked } from './large-world.ts';
import { NO_REDACTION, worldOf } from './worlds.ts';

const workshop = new Workshop();
after(() => workshop.close());

/** Begins inside a piece, so that something is made anew each time. */
const OTHER = { ...EVERYTHING, range: { startMs: START_MS + 777 * 60_000 } };

// Letters stand for pieces of 1,024 events: v for those that the scope sees, h for those that are hidden from it.
for (const pattern of ['vhhvvvvvv', 'vvvvvvvhh']) {
  test(`the memory of a chunk is nobody else's until the second one after it is asked for: ${pattern}`, async () => {
    const world = worldOf(EVENTS);
    const boardOf = (row: number) => (pattern[row >> 10] === 'v' ? 0 : 1);
    const events = world.events.map((event, row) => ({ ...event, board: boardOf(row) }));
    const dataset = await new ResidentPlainDataset({ ...world, events }, EVENTS).load();
    const rendering = openRendering(dataset, NO_REDACTION, workshop);
    const answer = await rendering.events(ONE_BOARD, 'json');
    assert.ok(answer.packed);
    const chunks = answer.packed('gzip')[Symbol.asyncIterator]();
    let seen = 0;
    for (let held = await chunks.next(); !held.done; seen++) {
      const before = Buffer.from(held.value);
      const next = await chunks.next();
      // What is made ahead, and another answer, take whatever memory they hold to be free.
      await unpacked(await rendering.events(OTHER, 'json'), 'gzip');
      assert.ok(before.equals(held.value), `chunk ${seen} has changed`);
      held = next;
    }
    assert.ok(seen > 10, `${seen} chunks`);
    await rendering.close();
  });
}
