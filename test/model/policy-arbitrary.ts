/**
 * Random points policies: overlapping rules, weeks in zones with clock changes, windows, overrides.
 */
import fc from 'fast-check';
import type { BoardPolicyInput, PolicyInput, RuleInput } from './points-model.ts';

const INSTANTS = [
  '2024-03-30T22:00:00.000+00:00',
  '2024-03-31T22:00:00Z',
  '2024-04-02T04:00:00.000+02:00',
  '2024-04-06T16:00:00.000+00:00',
  '2024-04-08T22:00:00.001+00:00',
];
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe'];
const DAYS = ['monday', 'wednesday', 'saturday', 'sunday'];
const TIMES = ['00:00', '02:30', '12:00', '23:30'];

/** No bound, one, or both in order. */
const boundsArbitrary = fc
  .subarray(INSTANTS, { maxLength: 2 })
  .chain(([from, until]) =>
    until === undefined
      ? from === undefined
        ? fc.constant({})
        : fc.constantFrom({ from }, { until: from })
      : fc.constant({ from, until }),
  );

const ruleArbitrary: fc.Arbitrary<RuleInput> = fc
  .tuple(
    fc.record({
      on: fc.constantFrom('pin.created', 'pin.created', 'pin.commented', 'pin.visited', 'board.followed'),
      to: fc.constantFrom('actor' as const, 'owner' as const),
      points: fc.constantFrom(0, 1, 5, 10, 13),
    }),
    fc.record({ minWords: fc.constantFrom(0, 1, 2, 3), excludeSelf: fc.boolean() }, { requiredKeys: [] }),
    fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: boundsArbitrary }),
  )
  .map(([rule, conditions, bounds]) => ({ ...rule, ...conditions, ...bounds }));

const boardPolicyArbitrary: fc.Arbitrary<BoardPolicyInput> = fc.record(
  {
    rules: fc.array(ruleArbitrary, { maxLength: 4 }),
    goal: fc.constantFrom(1, 7, 30, 100),
    weeklyMaximum: fc.constantFrom(1, 6, 10, 11, 15, 20, null),
    weekStarts: fc.record(
      {
        day: fc.constantFrom(...DAYS),
        time: fc.constantFrom(...TIMES),
        zone: fc.constantFrom(...ZONES),
      },
      { requiredKeys: [] },
    ),
    // Both ends are given, so that a given end and an inherited one are never in the wrong order.
    window: boundsArbitrary.map((bounds) => ({ from: null, until: null, ...bounds })),
    participationScore: fc.constantFrom('percent' as const, 'points' as const),
  },
  { requiredKeys: ['weeklyMaximum', 'weekStarts'] },
);

/** A policy with overrides for some of the given boards, at least `minLength` if there are any. */
export function policyArbitrary(boardIds: readonly bigint[], minLength = 0): fc.Arbitrary<PolicyInput> {
  const overrides = fc
    .subarray([...boardIds], { minLength })
    .chain((ids) => fc.tuple(...ids.map((id) => fc.tuple(fc.constant(String(id)), boardPolicyArbitrary))))
    .map((entries) => Object.fromEntries(entries));
  return fc
    .tuple(boardPolicyArbitrary, fc.option(overrides, { nil: undefined }))
    .map(([common, boards]) => (boards === undefined ? common : { ...common, boards }));
}
