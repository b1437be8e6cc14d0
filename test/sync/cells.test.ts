/** Each database holds every value that a server can send, exactly. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { eventRow } from '../../src/sync/rows.ts';
import { EVENTS } from '../../src/sync/tables.ts';
import { openTarget } from '../../src/sync/targets/open-target.ts';
import { temporaryFolder } from '../cli/command.ts';
import { runs } from '../model/runs.ts';
import { DATABASES } from './copies.ts';

const folder = temporaryFolder();
const TAGS = { usersTag: undefined, boardsTag: undefined, pointsTag: undefined };
const STATE = { source: 'http://server/a', token: 't', ...TAGS };
/** More rows than a chunk of DuckDB has. */
const MANY = 3_000;

const text = fc.oneof(
  fc.constantFrom('', 'NULL', 'null', '{a,"b"}', '\\', "O'Brien", '[1]', ' x ', 'a\tb\r\n', 'e\u0301🙂'),
  fc.string({ unit: 'binary' }).filter((one) => !one.includes('\0')),
);
const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const instant = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
  .map((date) => date.toISOString().replace('Z', '+00:00'));
const person = fc.record({ id, email: text, name: text, role: text, class_role: text }, { requiredKeys: [] });
const pin = fc.record({ id, activity: text, title: text, tags: fc.array(text) }, { requiredKeys: [] });
const event = fc.record(
  { type: text, action: text, timestamp: instant, actor: person, pin, board: fc.record({ id, title: text }) },
  { requiredKeys: ['timestamp'] },
);

for (const kind of DATABASES) {
  it(`a copy in ${kind.name} has the values of the events`, async () => {
    const property = fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 20 }), async (some) => {
      const events = Array.from({ length: MANY }, (_, at) => ({
        ...some[at % some.length],
        sync_id: String(at),
      }));
      const rows = events.map(eventRow);
      const place = await kind.make(folder);
      const target = await openTarget(place.address, { schema: 'community' });
      await target
        .transact(async (copy) => {
          await copy.put(EVENTS, rows);
          return STATE;
        })
        .finally(() => target.close());
      const copied = (await place.rows('events')).toSorted(
        (one, other) => Number(one['sync_id']) - Number(other['sync_id']),
      );
      assert.equal(copied.length, MANY);
      for (const [at, row] of rows.entries()) {
        const cells = EVENTS.columns.map(({ name, type }, column) => [
          name,
          type === 'instant' && row[column] !== null ? Date.parse(String(row[column])) : row[column],
        ]);
        assert.deepEqual(copied[at], Object.fromEntries(cells));
      }
    });
    await fc.assert(property, runs(5));
  });
}
