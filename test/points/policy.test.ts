import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { AppError } from '../../src/domain/app-error.ts';
import { type BoardPolicy, DEFAULT_POLICY, policyOf, readPolicy } from '../../src/points/policy.ts';

const PLAIN: BoardPolicy = DEFAULT_POLICY.default;
const EVER = { fromMs: undefined, untilMs: undefined };

describe('a policy', () => {
  test('is the default policy of decision 23 if the text is empty', () => {
    assert.equal(readPolicy(''), DEFAULT_POLICY);
    assert.deepEqual(readPolicy('{}'), DEFAULT_POLICY);
    assert.deepEqual(
      PLAIN.rules.map(({ on, to, points }) => [on, to, points]),
      [
        ['pin.created', 'actor', 10],
        ['pin.commented', 'actor', 5],
      ],
    );
    assert.equal(PLAIN.goal, 100);
    assert.equal(PLAIN.weeklyMaximum, undefined);
  });

  test('is read in full', () => {
    const policy = readPolicy(`{
      "rules": [{ "on": "pin.created", "to": "owner", "points": 10, "minWords": 40, "excludeSelf": true,
                  "from": "2026-01-01T00:00:00Z", "until": 1767225600001 }],
      "goal": 250, "weeklyMaximum": 65,
      "weekStarts": { "day": "sunday", "time": "23:59", "zone": "Asia/Muscat" },
      "window": { "from": 1000000000, "until": null },
      "participationScore": "points"
    }`);
    assert.deepEqual(policy, {
      default: {
        rules: [
          {
            on: 'pin.created',
            to: 'owner',
            points: 10,
            minWords: 40,
            excludeSelf: true,
            fromMs: Date.UTC(2026, 0, 1),
            untilMs: Date.UTC(2026, 0, 1) + 1,
          },
        ],
        goal: 250,
        weeklyMaximum: 65,
        weekStarts: { day: 7, minuteOfDay: 1439, zone: 'Asia/Muscat' },
        window: { fromMs: 1_000_000_000_000, untilMs: undefined },
        participationScore: 'points',
      },
      boards: new Map(),
    });
  });

  test('has rules without conditions if none are given', () => {
    const [rule] = readPolicy('{"rules":[{"on":"board.followed","to":"actor","points":0}]}').default.rules;
    assert.deepEqual(rule, {
      on: 'board.followed',
      to: 'actor',
      points: 0,
      minWords: 0,
      excludeSelf: false,
      ...EVER,
    });
  });

  test('for a board inherits omitted members, at any depth, and null removes one', () => {
    const policy = readPolicy(`{
      "goal": 300, "weeklyMaximum": 65, "window": { "from": 0, "until": 100 },
      "weekStarts": { "day": "friday", "time": "18:00", "zone": "Europe/Berlin" },
      "boards": {
        "7": { "weekStarts": { "day": "sunday" }, "window": { "until": null } },
        "-9223372036854775808": { "goal": 50, "weeklyMaximum": null, "rules": [] }
      }
    }`);
    assert.deepEqual(policyOf(policy, 7n), {
      ...policy.default,
      weekStarts: { day: 7, minuteOfDay: 18 * 60, zone: 'Europe/Berlin' },
      window: { fromMs: 0, untilMs: undefined },
    });
    assert.deepEqual(policyOf(policy, -(2n ** 63n)), {
      ...policy.default,
      goal: 50,
      weeklyMaximum: undefined,
      rules: [],
    });
    assert.equal(policyOf(policy, 8n), policy.default);
  });

  test('may begin with a byte order mark', () => {
    assert.equal(readPolicy('\uFEFF{"goal":7}').default.goal, 7);
  });
});

const rule = (members: string) => `{"rules":[{"on":"pin.created","to":"actor","points":10,${members}}]}`;
const INSTANT =
  'expected an ISO 8601 date-time with an offset ("2026-01-01T00:00:00Z"), Unix milliseconds or seconds, or null for an open end.';
const KIND = 'expected the type and the action of an event joined by a dot, such as "pin.created".';

const REFUSED: readonly (readonly [text: string, trouble: string])[] = [
  ['[]', '$ is an array; expected an object.'],
  ['null', '$ is null; expected an object.'],
  ['{"gaol":1}', '$ has the unknown member "gaol"; the nearest known one is "goal".'],
  [
    '{"threshold":1}',
    '$ has the unknown member "threshold"; expected one of rules, goal, weeklyMaximum, weekStarts, window, participationScore, boards.',
  ],
  ['{"rules":{}}', '$.rules is an object; expected an array.'],
  ['{"rules":[7]}', '$.rules[0] is 7; expected an object.'],
  ['{"rules":[{"on":"a.b","to":"actor"}]}', '$.rules[0] lacks the member "points"; expected on, to, points.'],
  [
    '{"rules":[{"on":"a.b","to":"actor","pionts":1}]}',
    '$.rules[0] has the unknown member "pionts"; the nearest known one is "points".',
  ],
  ['{"rules":[{"on":"pin","to":"actor","points":1}]}', `$.rules[0].on is "pin"; ${KIND}`],
  ['{"rules":[{"on":"a.b ","to":"actor","points":1}]}', `$.rules[0].on is "a.b "; ${KIND}`],
  ['{"rules":[{"on":"a.b.c","to":"actor","points":1}]}', `$.rules[0].on is "a.b.c"; ${KIND}`],
  [
    '{"rules":[{"on":"a.b","to":"Actor","points":1}]}',
    '$.rules[0].to is "Actor"; expected "actor" or "owner".',
  ],
  [
    '{"rules":[{"on":"a.b","to":"actor","points":-1}]}',
    '$.rules[0].points is -1; expected an integer from 0 to 1000000000.',
  ],
  [
    '{"rules":[{"on":"a.b","to":"actor","points":1.5}]}',
    '$.rules[0].points is 1.5; expected an integer from 0 to 1000000000.',
  ],
  [
    '{"rules":[{"on":"a.b","to":"actor","points":1000000001}]}',
    '$.rules[0].points is 1000000001; expected an integer from 0 to 1000000000.',
  ],
  [rule('"minWords":"4"'), '$.rules[0].minWords is "4"; expected an integer from 0 to 1000000000.'],
  [rule('"excludeSelf":1'), '$.rules[0].excludeSelf is 1; expected true or false.'],
  [rule('"from":"2026-01-01"'), `$.rules[0].from is "2026-01-01"; ${INSTANT}`],
  [rule('"until":"2026-02-30T00:00:00Z"'), `$.rules[0].until is "2026-02-30T00:00:00Z"; ${INSTANT}`],
  [rule('"until":1.5'), `$.rules[0].until is 1.5; ${INSTANT}`],
  [
    rule('"from":2,"until":2'),
    '$.rules[0] ends before it begins or as it begins; expected "until" to be later than "from".',
  ],
  ['{"goal":0}', '$.goal is 0; expected an integer from 1 to 1000000000.'],
  ['{"goal":null}', '$.goal is null; expected an integer from 1 to 1000000000.'],
  ['{"goal":1e400}', '$.goal is Infinity; expected an integer from 1 to 1000000000.'],
  [
    '{"weeklyMaximum":0}',
    '$.weeklyMaximum is 0; expected an integer from 1 to 1000000000, or null for none.',
  ],
  ['{"weekStarts":"monday"}', '$.weekStarts is "monday"; expected an object.'],
  [
    '{"weekStarts":{"day":"Monday"}}',
    '$.weekStarts.day is "Monday"; expected "monday" or "tuesday" or "wednesday" or "thursday" or "friday" or "saturday" or "sunday".',
  ],
  [
    '{"weekStarts":{"time":"24:00"}}',
    '$.weekStarts.time is "24:00"; expected a time from "00:00" to "23:59".',
  ],
  ['{"weekStarts":{"time":9}}', '$.weekStarts.time is 9; expected a time from "00:00" to "23:59".'],
  [
    '{"weekStarts":{"zone":"Europe/Berln"}}',
    '$.weekStarts.zone is "Europe/Berln"; expected the name of an IANA time zone, such as "Europe/Berlin".',
  ],
  [
    '{"weekStarts":{"zone":"+01:00"}}',
    '$.weekStarts.zone is "+01:00"; expected the name of an IANA time zone',
  ],
  [
    '{"weeklyMaximum":9,"weekStarts":{"zone":"IST"}}',
    '$.weekStarts has weeks of the time zone "IST"; expected the name of an IANA time zone; IST may mean Asia/Kolkata, Europe/Dublin or Asia/Jerusalem.',
  ],
  [
    '{"weeklyMaximum":null,"weekStarts":{"zone":"mit"},"boards":{"7":{"weeklyMaximum":9}}}',
    '$.boards["7"].weeklyMaximum has weeks of the time zone "mit"; expected the name of an IANA time zone; mit may mean Pacific/Apia or Pacific/Marquesas.',
  ],
  ['{"weekStarts":{"zone":null}}', '$.weekStarts.zone is null; expected the name of an IANA time zone.'],
  ['{"window":{"form":1}}', '$.window has the unknown member "form"; the nearest known one is "from".'],
  [
    '{"window":{"until":5},"boards":{"7":{"window":{"from":5}}}}',
    '$.boards["7"].window ends before it begins or as it begins; expected "until" to be later than "from".',
  ],
  ['{"participationScore":"share"}', '$.participationScore is "share"; expected "percent" or "points".'],
  ['{"boards":[]}', '$.boards is an array; expected an object.'],
  ['{"boards":{"seven":{}}}', '$.boards.seven is not named by a board; expected its id, a 64-bit integer.'],
  [
    '{"boards":{"9223372036854775808":{}}}',
    '$.boards["9223372036854775808"] is not named by a board; expected its id, a 64-bit integer.',
  ],
  ['{"boards":{"7":{},"07":{}}}', '$.boards["07"] names board 7 again; expected each board once.'],
  ['{"boards":{"7":null}}', '$.boards["7"] is null; expected an object.'],
  ['{"boards":{"7":{"goal":-2}}}', '$.boards["7"].goal is -2; expected an integer from 1 to'],
  ['{"boards":{"7":{"boards":{}}}}', '$.boards["7"] has the unknown member "boards";'],
  ['{"__proto__":{"goal":1}}', '$ has the unknown member "__proto__";'],
  [`{"goal":"${'9'.repeat(1000)}"}`, `$.goal is "${'9'.repeat(59)}…; expected an integer from 1 to`],
];

test('a policy without a weekly maximum keeps a zone of several meanings, which 0.2 took', () => {
  const { weekStarts } = readPolicy('{"weeklyMaximum":null,"weekStarts":{"zone":"CST"}}').default;
  assert.equal(weekStarts.zone, 'CST');
});

describe('a malformed policy is refused', () => {
  for (const [text, trouble] of REFUSED) {
    test(`${text.slice(0, 80)}`, () => {
      const message = refusal(text);
      const expected = `The policy is malformed: ${trouble}`;
      assert.equal(trouble.endsWith('.') ? message : message.slice(0, expected.length), expected);
    });
  }

  for (const text of ['{', '{"goal":1,}', 'goal: 1', ' ']) {
    test(`because ${JSON.stringify(text)} is not JSON`, () => {
      assert.match(refusal(text), /^The policy is not valid JSON: .+/);
    });
  }
});

function refusal(text: string): string {
  try {
    readPolicy(text);
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    assert.equal(error.code, 'policy-malformed');
    return error.message;
  }
  return assert.fail('The policy was read.');
}

test('every example in docs/points.md is a policy, and the first is the default policy', () => {
  const reference = readFileSync(join(import.meta.dirname, '../../docs/points.md'), 'utf8');
  const examples = [...reference.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => readPolicy(json!));
  assert.ok(examples.length >= 7);
  assert.deepEqual(examples[0], DEFAULT_POLICY);
});
