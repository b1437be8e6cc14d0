import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Ledger, LedgerLine } from '../../src/dataset/dataset.ts';
import { explainLedger, renderExplanation } from '../../src/points/explanation.ts';
import { readPolicy } from '../../src/points/policy.ts';

const POLICY = readPolicy(`{
  "rules": [
    { "on": "pin.created", "to": "actor", "points": 10, "minWords": 40 },
    { "on": "pin.commented", "to": "owner", "points": 5, "excludeSelf": true, "from": "2026-01-01T00:00:00Z" }
  ],
  "weeklyMaximum": 65,
  "weekStarts": { "zone": "Europe/Berlin" },
  "window": { "until": "2026-07-01T00:00:00Z" }
}`).default;

const CREATED: LedgerLine = {
  timestampMs: Date.UTC(2026, 2, 30, 8),
  kind: { type: 'pin', action: 'created' },
  actorId: 9007199254740993n,
  ownerId: 9007199254740993n,
  pinId: 12n,
  rule: 0,
  points: 10,
  outcome: 'counted',
  weekStartMs: Date.UTC(2026, 2, 29, 22),
};
const COMMENTED: LedgerLine = {
  ...CREATED,
  timestampMs: Date.UTC(2026, 2, 30, 9),
  kind: { type: 'pin', action: 'commented' },
  actorId: 5n,
  rule: 1,
  points: 5,
};
const EMPTY: Ledger = {
  lines: [],
  otherPoints: 0,
  adjustments: [],
  imported: undefined,
  standing: undefined,
};

describe('an explained ledger', () => {
  test('has the time, event, rule, week and running total of each award', () => {
    const { lines } = explainLedger({ ...EMPTY, lines: [CREATED, COMMENTED] }, POLICY);
    assert.deepEqual(lines, [
      {
        timestamp: '2026-03-30T08:00:00.000+00:00',
        what: 'pin.created on pin 12 by user 9007199254740993',
        rule: '1: 10 to the actor, from 40 words',
        week: '2026-03-30T00:00+02:00',
        points: 10,
        counted: true,
        reason: 'counted',
        runningTotal: 10,
      },
      {
        timestamp: '2026-03-30T09:00:00.000+00:00',
        what: 'pin.commented on pin 12 by user 5',
        rule: '2: 5 to the owner, not to oneself, from 2026-01-01T00:00:00.000+00:00',
        week: '2026-03-30T00:00+02:00',
        points: 5,
        counted: true,
        reason: 'counted',
        runningTotal: 15,
      },
    ]);
  });

  test('has no pin and no week for an award without them', () => {
    const followed = { ...CREATED, kind: { type: 'board', action: 'followed' }, pinId: undefined };
    const { lines } = explainLedger({ ...EMPTY, lines: [{ ...followed, weekStartMs: undefined }] }, POLICY);
    assert.equal(lines[0]?.what, 'board.followed by user 9007199254740993');
    assert.equal(lines[0]?.week, '');
  });

  const reasons: readonly (readonly [LedgerLine, reason: string])[] = [
    [{ ...CREATED, outcome: 'weekly-maximum' }, 'not counted: the week had reached its maximum of 65'],
    [
      { ...CREATED, outcome: 'outside-window' },
      'not counted: outside the earning window (until 2026-07-01T00:00:00.000+00:00)',
    ],
    [{ ...CREATED, outcome: 'too-few-words' }, 'not counted: the text has fewer than 40 words'],
    [{ ...COMMENTED, outcome: 'self' }, 'not counted: the actor is the owner'],
  ];
  for (const [line, reason] of reasons) {
    test(`says of an award with the outcome ${line.outcome} why it adds nothing`, () => {
      const { lines, countedPoints } = explainLedger({ ...EMPTY, lines: [line] }, POLICY);
      assert.deepEqual(
        lines.map(({ counted, reason, points, runningTotal }) => ({ counted, reason, points, runningTotal })),
        [{ counted: false, reason, points: line.points, runningTotal: 0 }],
      );
      assert.equal(countedPoints, 0);
    });
  }

  test('merges adjustments by time, after the awards of the same instant', () => {
    const ledger: Ledger = {
      ...EMPTY,
      lines: [CREATED, COMMENTED],
      adjustments: [
        { timestampMs: COMMENTED.timestampMs + 1, points: 3, reason: 'talk' },
        { timestampMs: CREATED.timestampMs, points: -12, reason: 'copied' },
        { timestampMs: CREATED.timestampMs - 1, points: 1, reason: '' },
      ],
      standing: { totalPoints: 7, participationScore: 7 },
    };
    const { lines, countedPoints, adjustedPoints, summary } = explainLedger(ledger, POLICY);
    assert.deepEqual(
      lines.map(({ rule, reason, runningTotal }) => [rule.slice(0, 1), reason, runningTotal]),
      [
        ['', '', 1],
        ['1', 'counted', 11],
        ['', 'copied', -1],
        ['2', 'counted', 4],
        ['', 'talk', 7],
      ],
    );
    assert.deepEqual([countedPoints, adjustedPoints], [15, -8]);
    assert.deepEqual(summary, [
      'Awards that count make 15, adjustments by hand -8, together 7.',
      'The points routes answer total points 7 and participation score 7 (percent of the goal of 100).',
    ]);
  });

  test('ends with the effect of events outside the scope, without time, event, rule and week', () => {
    const { lines, countedPoints } = explainLedger({ ...EMPTY, lines: [CREATED], otherPoints: -3 }, POLICY);
    assert.deepEqual(lines[1], {
      ...{ timestamp: null, what: 'activity outside the scope of this key', rule: '', week: '', points: -3 },
      ...{ counted: true, reason: 'makes up the total, which is the same for every key', runningTotal: 7 },
    });
    assert.equal(countedPoints, 7);
  });

  test('keeps awards of the same instant in the order of the ledger', () => {
    const later = { ...COMMENTED, timestampMs: CREATED.timestampMs };
    const { lines } = explainLedger({ ...EMPTY, lines: [CREATED, later] }, POLICY);
    assert.deepEqual(
      lines.map(({ runningTotal }) => runningTotal),
      [10, 15],
    );
  });

  test('says that an imported points total replaces the computed one', () => {
    const figures = { totalPoints: 80, participationScore: 75 };
    const { summary } = explainLedger(
      { ...EMPTY, lines: [CREATED], imported: figures, standing: figures },
      POLICY,
    );
    assert.deepEqual(summary, [
      'Awards that count make 10, adjustments by hand 0, together 10.',
      'Imported figures replace the computed ones: total points 80, participation score 75.',
      'The points routes answer total points 80 and participation score 75.',
    ]);
  });

  test('says that a total is never below 0, and that a user who is not on the board has no points total', () => {
    const adjustments = [{ timestampMs: 0, points: -3, reason: 'x' }];
    assert.deepEqual(explainLedger({ ...EMPTY, adjustments }, POLICY).summary, [
      'Awards that count make 0, adjustments by hand -3, together -3.',
      'A total is never below 0.',
      'The user is not on the board, so the points routes answer nothing.',
    ]);
  });

  test('is plain data, also with large ids', () => {
    const explanation = explainLedger({ ...EMPTY, lines: [CREATED] }, POLICY);
    assert.match(JSON.stringify(explanation), /by user 9007199254740993"/);
  });
});

describe('a rendered explanation', () => {
  test('has a header, aligned columns, and the summary below', () => {
    const ledger: Ledger = {
      ...EMPTY,
      lines: [CREATED, { ...COMMENTED, outcome: 'weekly-maximum' }],
      adjustments: [{ timestampMs: COMMENTED.timestampMs, points: -4, reason: 'copied' }],
      standing: { totalPoints: 6, participationScore: 6 },
    };
    const policy = { ...POLICY, rules: POLICY.rules.map((rule) => ({ ...rule, fromMs: undefined })) };
    assert.equal(
      renderExplanation(explainLedger(ledger, policy)),
      `\
when                           what                                            rule                               week                    points  total  outcome
2026-03-30T08:00:00.000+00:00  pin.created on pin 12 by user 9007199254740993  1: 10 to the actor, from 40 words  2026-03-30T00:00+02:00      10     10  counted
2026-03-30T09:00:00.000+00:00  pin.commented on pin 12 by user 5               2: 5 to the owner, not to oneself  2026-03-30T00:00+02:00       5     10  not counted: the week had reached its maximum of 65
2026-03-30T09:00:00.000+00:00  adjustment by hand                                                                                             -4      6  copied

Awards that count make 10, adjustments by hand -4, together 6.
The points routes answer total points 6 and participation score 6 (percent of the goal of 100).
`,
    );
  });

  test('contains no control character of an imported reason', () => {
    const adjustments = [{ timestampMs: 0, points: 1, reason: 'a\u001b[31m\r\nb\u2028c' }];
    const text = renderExplanation(explainLedger({ ...EMPTY, adjustments }, POLICY));
    assert.match(text, /a \[31m {2}b c\n/);
  });

  test('says so if the ledger is empty', () => {
    assert.equal(
      renderExplanation(
        explainLedger({ ...EMPTY, standing: { totalPoints: 0, participationScore: 0 } }, POLICY),
      ),
      `\
No awards, no adjustments.

Awards that count make 0, adjustments by hand 0, together 0.
The points routes answer total points 0 and participation score 0 (percent of the goal of 100).
`,
    );
  });
});
