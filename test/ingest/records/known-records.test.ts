/** The memory of an import for the users, boards and pins that it has staged. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { KnownRecords } from '../../../src/ingest/records/known-records.ts';

const place = { file: 0, line: 1 };

it('known records are discarded when their texts are too long in total, also those in lists and maps', () => {
  const text = 'x'.repeat(20_000_000);
  const known = new KnownRecords();
  const user = (id: bigint) => ({ ...place, id, lms: { sourcedId: text } });
  for (const id of [1n, 2n, 3n]) assert.ok(known.isNews('users', user(id), false));
  assert.equal(known.users.size, 3);
  known.isNews('users', user(4n), false);
  assert.equal(known.users.size, 1, 'LMS properties count');
  const pin = (id: bigint) => ({ ...place, id, boardId: 1n, tags: [text] });
  for (const id of [1n, 2n, 3n]) known.isNews('pins', pin(id), false);
  assert.deepEqual([known.users.size, known.pins.size], [0, 1], 'tags count');
});
