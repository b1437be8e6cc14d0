/**
 * A copy after random change sets, against a plain model: events of several months, corrections
 * that move an event to a different month, deletions, erasures, and copies from the start.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { temporaryFolder } from '../cli/command.ts';
import { runs } from '../model/runs.ts';
import { BUCKET, PLACES } from './copies.ts';
import { eventsIn, NO_CHANGES, runWith, type ScriptedBatch, ScriptedCopy } from './scripted.ts';

const folder = temporaryFolder();
/** First and last instants of months and of all time, and a leap day. */
const INSTANTS = [
  ...['2018-02-28T23:59:59.999Z', '2018-03-01T00:00:00.000Z', '2018-12-31T23:59:59.999Z'],
  ...['2020-02-29T12:00:00.000Z', '1969-12-31T23:59:59.999Z', '0001-01-01T00:00:00.000Z'],
  '9999-12-31T23:59:59.999Z',
].map((text) => Date.parse(text));

const id = fc.constantFrom('a', 'b', 'c', 'd', "e'\u{1F600}");
const actor = fc.constantFrom(1, 2, 3);
const event = fc.record(
  {
    id,
    actor,
    instantMs: fc.constantFrom(...INSTANTS),
    title: fc.string({ unit: 'binary', maxLength: 4 }).filter((text) => !text.includes('\0')),
  },
  { noNullPrototype: true },
);
const batch: fc.Arbitrary<ScriptedBatch> = fc.record({
  startsAnew: fc.integer({ min: 0, max: 5 }).map((again) => again === 0),
  forgotten: fc.array(actor, { maxLength: 1 }),
  deleted: fc.array(id, { maxLength: 2 }),
  events: fc.array(event, { maxLength: 4 }),
});
/** It also starts again after some pages if the scope of the key has changed meanwhile. */
const changeSet = fc.array(batch, { minLength: 1, maxLength: 3 });

/** An event is replaced, and then its new actor is forgotten: nothing of it is left. */
const [earlier, later] = [1, 2].map((of) => ({ id: 'a', actor: of, instantMs: 0, title: '' }));
const replaced = [
  { ...NO_CHANGES, events: [later!] },
  { ...NO_CHANGES, forgotten: [2] },
];
const EXAMPLES: [ScriptedBatch[][]][] = [
  [[[{ ...NO_CHANGES, startsAnew: true, events: [earlier!] }, ...replaced]]],
  [[[{ ...NO_CHANGES, startsAnew: true, events: [earlier!] }], replaced]],
];

describe('a copy after random change sets', () => {
  for (const kind of PLACES) {
    it(`has the events that they leave, in ${kind.name}`, async () => {
      const property = fc.asyncProperty(fc.array(changeSet, { minLength: 1, maxLength: 6 }), async (sets) => {
        const place = await kind.make(folder);
        const model = new ScriptedCopy();
        for (const [at, batches] of sets.entries()) {
          await runWith(place, batches, `token ${at}`);
          for (const one of batches) model.apply(one);
          assert.deepEqual(eventsIn(await place.rows('events')), model.events);
        }
      });
      await fc.assert(property, { ...runs(kind === BUCKET ? 2 : 5), examples: EXAMPLES });
    });
  }
});
