/**
 * Random small worlds with difficult texts and ids, and worlds of many events, for tests of
 * rendering.
 */
import fc from 'fast-check';
import { EARLIEST_INSTANT_MS, LATEST_INSTANT_MS } from '../../src/domain/instant.ts';
import type { Redacting } from '../../src/render/text/rendered-body.ts';
import type { PlainEvent, PlainWorld } from './plain-dataset.ts';

export const NO_REDACTION: Redacting = { email: false, name: false, id: false, secret: new Uint8Array(32) };

const KINDS = [
  { type: 'pin', action: 'visited' },
  { type: 'board', action: 'followed' },
  { type: 'pin', action: 'said "hello, world"' },
];

// The characters include lone surrogates.
const difficult = fc.constantFrom(...['"', '\\', ',', ' ', '\r', '\n', '\t', '\0', '\x1f', '\x7f', '\u2028']);
const halves = fc.constantFrom(...['\ud83d', '\ude00', '😀', 'é', '漢', 'a']);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.oneof(difficult, halves), maxLength: 12 }),
);
/** Well-formed texts, as in versions, which store UTF-8. */
const words = text.map((one) => one.toWellFormed());
const id = fc.oneof(
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.constantFrom(0n, 2n ** 63n - 1n, -(2n ** 63n)),
  fc.bigInt(1n, 99n),
);

const person = fc.record({
  id,
  email: words,
  name: words,
  firstName: words,
  lastName: words,
  nameIsDerived: fc.boolean(),
  role: words,
  classRole: words,
});
const board = fc.record({ id, title: words, category: words });
const pin = fc.record({
  id,
  title: words,
  body: words,
  webUrl: words,
  imageUrl: words,
  tags: fc.array(text, { maxLength: 3 }),
});

const event = fc
  .record({
    kind: fc.nat({ max: 2 }),
    actor: fc.nat({ max: 2 }),
    owner: fc.nat({ max: 2 }),
    board: fc.nat({ max: 1 }),
    pin: fc.nat({ max: 3 }),
    timestampMs: fc.oneof(
      fc.integer({ min: -5000, max: 5000 }),
      fc.integer({ min: EARLIEST_INSTANT_MS, max: LATEST_INSTANT_MS }),
    ),
  })
  .map((fields): PlainEvent => ({ ...fields, pin: KINDS[fields.kind]!.type === 'pin' ? fields.pin : -1 }));

function unique<R extends { readonly id: bigint }>(arbitrary: fc.Arbitrary<R>, size: number) {
  return fc.uniqueArray(arbitrary, { minLength: size, maxLength: size, selector: (record) => record.id });
}

/**
 * Three users, two boards, four pins, up to twelve events, and a points total for every user on
 * every board.
 */
export const anyWorld: fc.Arbitrary<PlainWorld> = fc
  .record({
    organization: fc.record({ id, title: words, domain: words, categoryId: id }),
    people: fc
      .uniqueArray(person, { minLength: 3, maxLength: 3, selector: (one) => one.email })
      .filter((people) => new Set(people.map((one) => one.id)).size === 3),
    boards: unique(board, 2),
    pins: unique(pin, 4),
    events: fc.array(event, { maxLength: 12 }),
    points: fc.array(fc.nat({ max: 1_000_000_000_000 }), { minLength: 6, maxLength: 6 }),
  })
  .map(({ points, ...world }) => ({
    ...world,
    kinds: KINDS,
    standings: points.map((totalPoints, at) => ({
      user: at % 3,
      board: Math.floor(at / 3),
      totalPoints,
      participationScore: at * 20,
    })),
  }));

/**
 * A world of `eventCount` events, one per minute. The body of pin 0 has `bodyLength` characters.
 */
export function worldOf(eventCount: number, bodyLength = 300): PlainWorld {
  const ids = [1n, 2n ** 53n + 1n, 2n ** 63n - 1n];
  return {
    organization: { id: 7n, title: 'Maker Guild', domain: 'guild.example', categoryId: 3n },
    kinds: KINDS,
    people: ids.map((id) => ({
      id,
      email: `user${id}@guild.example`,
      name: `Ada ${id}`,
      firstName: 'Ada',
      lastName: `${id}`,
      nameIsDerived: false,
      role: 'user',
      classRole: 'instructor',
    })),
    boards: ids.map((id) => ({ id, title: `Board ${id}`, category: 'Communications' })),
    pins: ids.map((id, index) => ({
      id,
      title: `Pin ${id}`,
      body: 'ü'.repeat(index === 0 ? bodyLength : 300),
      webUrl: '',
      imageUrl: '',
      tags: ['wood'],
    })),
    events: Array.from({ length: eventCount }, (_, at) => ({
      kind: at % 3,
      actor: at % 2,
      owner: 2,
      board: at % 3,
      pin: at % 3 === 1 ? -1 : Math.floor(at / 3) % 3,
      timestampMs: Date.UTC(2018, 2, 12, 17) + at * 60_000,
    })),
    standings: [
      { user: 1, board: 2, totalPoints: 65, participationScore: 65 },
      { user: 1, board: 0, totalPoints: 140, participationScore: 100 },
      { user: 0, board: 0, totalPoints: 0, participationScore: 0 },
    ],
  };
}
