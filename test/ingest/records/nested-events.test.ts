/**
 * Nested events whose repeated descriptions are recognized by their bytes give the same records as
 * the careful path.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertSame, instantArbitrary } from '../both-ways.ts';
import { nestedEvent, person } from '../imported-files.ts';

/** Usually the first value. */
const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(usual, ...others) },
  );

const nested = fc
  .record({
    owner: mostly<number | bigint>(1, 2, 9_007_199_254_740_993n),
    actor: fc.constantFrom(1, 2, 3),
    pin: fc.constantFrom(0, 5),
    board: mostly(3, 4),
    name: mostly('Ada', 'Zoë', 'say "x"', '\u2028'),
    title: mostly('T', 'Other'),
    action: mostly('visited', 'liked'),
    activity: mostly('same', 'none', 'other'),
    timestamp: fc.oneof(
      { weight: 12, arbitrary: instantArbitrary },
      { weight: 1, arbitrary: fc.constant('1520874045567') },
    ),
    form: mostly('plain', 'spaced', 'blank', 'flat', 'last', 'return', 'id', 'NUL', 'bytes', 'nothing'),
    organization: mostly(70, 70, 70, 70, 71),
  })
  .map(({ owner, actor, pin, board, name, title, action, activity, timestamp, form, organization }) => {
    const given = {
      id: pin,
      ...(activity === 'none' ? {} : { activity: activity === 'same' ? action : activity }),
    };
    const event = {
      type: pin === 0 ? 'board' : 'pin',
      action,
      owner: { ...person(1), id: '(owner)' },
      actor: { ...person(actor), name: actor === 1 ? 'U1' : name },
      organization: { id: organization, name: 'School', domain: 'x.example', category_id: 9 },
      ...(pin === 0 ? {} : { pin: { ...given, title, tags: ['a'] } }),
      board: { id: board, title, category: '' },
      timestamp,
    };
    const { type, ...rest } = event;
    const flat = { type: 'board', action, owner_id: 1, actor_id: actor, board_id: board, timestamp };
    const values: Readonly<Record<string, unknown>> = {
      flat,
      last: { ...rest, type },
      id: { ...event, id: 77 },
    };
    const text = JSON.stringify(values[form] ?? event).replace('"(owner)"', String(owner));
    const texts: Readonly<Record<string, string>> = {
      ...{ spaced: text.replaceAll('":', '": '), blank: `${text}\n `, return: `${text}\r`, nothing: '' },
      ...{ NUL: text.replace('example', 'exam\0le'), bytes: text.replace('School', 'Sch\u00ffool') },
    };
    // In Latin-1, the texts named `bytes` are not UTF-8.
    return Buffer.from(`${texts[form] ?? text}\n`, form === 'bytes' ? 'latin1' : 'utf8');
  });

test('nested events in NDJSON are read as by the careful path', async (t) => {
  // The fast path starts with the second block of a file.
  const start = `${JSON.stringify(nestedEvent(1))}\n`.repeat(200);
  const property = fc.asyncProperty(fc.array(nested, { maxLength: 60 }), async (lines) => {
    await assertSame(t, 'events.ndjson', Buffer.concat([Buffer.from(start), ...lines]));
  });
  await fc.assert(property, { numRuns: 100 });
});

test('more distinct words than a batch of columns can number are read as by the careful path', async (t) => {
  const lines = Array.from({ length: 900 }, (_, at) =>
    JSON.stringify({ ...nestedEvent(1), action: `action ${at}` }),
  );
  const { staged, problems } = await assertSame(t, 'events.ndjson', lines.join('\n'));
  assert.deepEqual(problems, []);
  assert.equal(new Set(staged.map(({ record }) => 'action' in record && record.action)).size, 901);
});

test('an activity that does not repeat the action is refused wherever it is in the pin', async (t) => {
  // The fast path starts with the second block of a file.
  const start = `${JSON.stringify(nestedEvent(1))}\n`.repeat(200);
  const { board, timestamp: _, ...event } = nestedEvent(2);
  const timestamp = '2018-03-12T17:00:45.567+00:00';
  const first = (activity: string) => ({ id: 5, activity, title: 'T' });
  const last = (activity: string) => ({ id: 6, title: 'T', activity });
  const lineOf = (action: string, pin: object) =>
    JSON.stringify({ ...event, type: 'pin', action, pin, board, timestamp });
  const lines = [
    ...[
      lineOf('visited', first('visited')),
      lineOf('liked', first('liked')),
      lineOf('liked', first('visited')),
    ],
    ...[lineOf('visited', last('visited')), lineOf('liked', last('visited')), lineOf('liked', last('liked'))],
  ];
  const text = [...lines, ...lines].join('\n');
  const { problems } = await assertSame(t, 'events.ndjson', start + text);
  assert.equal(problems.length, 4);
});
