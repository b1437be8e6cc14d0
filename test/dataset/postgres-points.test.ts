/** Awards and standings that a publication works out in PostgreSQL, and what is read of them. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { readLedger } from '../../src/dataset/postgres/ledger.ts';
import { readStandings } from '../../src/dataset/postgres/standings.ts';
import type { StandingsQuery } from '../../src/dataset/query.ts';
import { FULL_SCOPE } from '../../src/dataset/scope.ts';
import { readPolicy } from '../../src/points/policy.ts';
import { participationScore } from '../../src/points/score.ts';
import { weekStartOf } from '../../src/points/weeks.ts';
import {
  CREATED,
  closeOrganizations,
  DAY_MS,
  event,
  type HandMade,
  MONDAY,
  published,
  things,
} from '../postgres/hand-made.ts';

after(closeOrganizations);

describe('awards', () => {
  it('decision 24: stop at the weekly maximum, in the order of time, also when an event comes late', async () => {
    const week = { weeklyMaximum: 15, weekStarts: { day: 'monday', time: '00:00', zone: 'UTC' } };
    const organization = await published(
      { events: [0, 2, 3, 7].map((day) => event('pin.created', 0, day)) },
      { rules: [CREATED], ...week },
    );
    assert.deepEqual(await organization.awards(), [
      `1 0 0 10 counted ${MONDAY}`,
      `2 0 0 10 counted ${MONDAY}`,
      `3 0 0 10 weekly-maximum ${MONDAY}`,
      `4 0 0 10 counted ${MONDAY + 7 * DAY_MS}`,
    ]);
    await organization.publish({ events: [event('pin.created', 0, 1), event('pin.created', 1, 1)] });
    assert.deepEqual((await organization.awards()).slice(1, 5), [
      `2 0 0 10 weekly-maximum ${MONDAY}`,
      `3 0 0 10 weekly-maximum ${MONDAY}`,
      `4 0 0 10 counted ${MONDAY + 7 * DAY_MS}`,
      `5 0 0 10 counted ${MONDAY}`,
    ]);
    const { awards: changed, standings: totals } = await organization.written();
    assert.deepEqual([changed, totals], ['+3 -1', '+1 -0']);
  });

  it('finds the week of every instant, before 1970, at the turn and where clocks change', async () => {
    const weekStarts = { day: 'sunday', time: '03:00', zone: 'Europe/Berlin' };
    const instants = [-40, -9, -1.5, 0, 3, 450, 631.05, 632, 18_000].map((day) => Math.round(day * DAY_MS));
    const turn = Date.UTC(2024, 2, 31, 1);
    const organization = await published(
      { events: [...instants, turn - 1, turn].map((ms) => event('pin.created', 0, 0, { timestamp_ms: ms })) },
      { rules: [CREATED], weeklyMaximum: 5, weekStarts },
    );
    const { weekStarts: week } = readPolicy(JSON.stringify({ weekStarts })).default;
    const found = await organization.rows(
      'SELECT timestamp_ms, week_ms FROM awards WHERE ALIVE ORDER BY sequence',
    );
    assert.deepEqual(
      found,
      [...instants, turn - 1, turn].map((ms) => `${ms} ${weekStartOf(week, ms)}`),
    );
  });

  it('decision 23: are refused outside the window, to oneself, and for too few words', async () => {
    const organization = await published(
      {
        pins: [
          { id: 0, body: 'one two' },
          { id: 1, body: '' },
        ],
        events: [
          event('pin.created', 0, 0, { owner: 1, pin: 0 }),
          event('pin.created', 0, 0, { pin: 0 }),
          event('pin.created', 0, 0, { owner: 1, pin: 1 }),
          event('pin.created', 0, 9, { owner: 1, pin: 0 }),
          event('pin.visited', 0, 0, { owner: 1 }),
        ],
      },
      {
        rules: [
          { ...CREATED, minWords: 2, excludeSelf: true },
          { on: 'pin.created', to: 'owner', points: 1, from: '1970-01-10T00:00:00Z' },
        ],
        window: { until: '1970-01-14T00:00:00Z' },
        boards: { 1: { goal: 5 } },
      },
    );
    assert.deepEqual(await organization.awards(), [
      '1 0 0 10 counted -',
      '2 0 0 10 self -',
      '3 0 0 10 too-few-words -',
      '4 0 0 10 outside-window -',
      '4 1 1 1 outside-window -',
    ]);
    await organization.publish({ pins: [{ id: 1, body: 'now\nthree words' }] });
    assert.equal((await organization.awards())[2], '3 0 0 10 counted -');
    assert.deepEqual(await organization.written(), {
      pins: '+1 -1',
      awards: '+1 -1',
      standings: '+1 -1',
    });
  });

  it('count words between any white space of Unicode, and nothing else', async () => {
    const codes = Array.from({ length: 0x3100 }, (_, code) => code).filter(
      (code) => code > 0 && (/\s/u.test(String.fromCodePoint(code)) || code % 11 === 0 || code < 0x100),
    );
    const between = [...codes, 0x85, 0x180e, 0x200b, 0x2060, 0xfeff, 0xfffd, 0x1f600].map((code) =>
      String.fromCodePoint(code),
    );
    const bodies = ['', ' ', 'ab', '\u00a0ab\u3000', ...between.map((text) => `a${text}b`)];
    const organization = await published(
      {
        pins: bodies.map((body, id) => ({ id, body })),
        events: bodies.map((_, pin) => event('pin.created', 0, 0, { pin })),
      },
      { rules: [{ ...CREATED, minWords: 2 }] },
    );
    const outcomes = await organization.rows('SELECT outcome FROM awards WHERE ALIVE ORDER BY sequence');
    const expected = bodies.map((body) => (/\S\s+\S/u.test(body) ? 'counted' : 'too-few-words'));
    assert.deepEqual(outcomes, expected);
  });
});

describe('standings', () => {
  const scores = [
    { goal: 3, total: 1 },
    { goal: 1000, total: 995 },
    { goal: 1_000_000_000, total: 999_999_999 },
    { goal: 1_000_000_000, total: 5_000_000 },
    { goal: 5, total: 4_000_000_000_000_000 },
    { goal: 5, total: -1 },
  ];
  it('decision 25: are what counted and adjustments, never below 0, and the score of that', async () => {
    const organization = await published(
      {
        boards: things(scores.length + 1),
        memberships: scores.map((_, board) => ({ board, person: 1 })),
        adjustments: scores.map(({ total }, board) => ({
          ...{ board, person: 1, points: total, timestamp_ms: 1, reason: '' },
        })),
      },
      { boards: Object.fromEntries(scores.map(({ goal }, board) => [board, { goal }])) },
    );
    const expected = scores.map(({ goal, total }, board) => {
      const score = participationScore(readPolicy(JSON.stringify({ goal })).default, total);
      return `${board} 1 ${Math.max(0, total)} ${score}`;
    });
    assert.deepEqual(await organization.standings(), expected);
    const ranged = await readStandings(organization.database, organization.at, {
      ...{ scope: FULL_SCOPE, range: { endMs: 2 }, of: { user: 1 } },
    });
    const read = Array.from(ranged.board, (board, row) => {
      return `${board} 1 ${ranged.totalPoints[row]} ${ranged.participationScore[row]}`;
    });
    assert.deepEqual(read, expected);
  });

  const made: HandMade = {
    events: [event('pin.created', 0, 0), event('pin.created', 0, 3), event('pin.visited', 1, 1)],
    points: [{ board: 0, person: 2, total_points: 42, participation_score: 7 }],
    adjustments: [{ board: 0, person: 1, points: 3, timestamp_ms: MONDAY, reason: 'by hand' }],
  };

  it('decisions 12, 26, 37: are read inside scope and range, of the version that was opened', async () => {
    const organization = await published(made);
    const { at } = organization;
    const read = async (query: Partial<StandingsQuery>) => {
      const full = { scope: FULL_SCOPE, range: {}, of: { board: 0 } };
      const found = await readStandings(organization.database, at, { ...full, ...query });
      return Array.from(found.user, (user, row) => `${user}: ${found.totalPoints[row]}`);
    };
    await organization.publish({ events: [event('pin.created', 1, 5)] }, '{"rules":[]}');
    assert.deepEqual(await read({}), ['0: 20', '1: 3', '2: 42']);
    assert.deepEqual(await read({ of: { user: 1 } }), ['1: 3']);
    assert.deepEqual(await read({ range: { endMs: MONDAY + DAY_MS } }), ['0: 10', '1: 3', '2: 0']);
    assert.deepEqual(await read({ range: { startMs: 5, endMs: 5 } }), []);
    assert.deepEqual(await read({ scope: { boards: [0n], users: [0n, 2n] } }), ['0: 20', '2: 42']);
    assert.deepEqual(await read({ scope: { boards: [1n], users: 'of-boards' } }), []);
    assert.deepEqual(await organization.standings(), ['0 0 0 0', '0 1 3 3', '0 2 42 7']);
  });

  it('decision 27: are explained by the ledger of the version that was opened', async () => {
    const organization = await published(made);
    const { at } = organization;
    await organization.publish({
      points: [{ board: 0, person: 2, total_points: 1, participation_score: 1 }],
    });
    const ledger = await readLedger(organization.database, at, { scope: FULL_SCOPE, board: 0, user: 0 });
    assert.deepEqual(ledger.lines[1], {
      ...{
        timestampMs: MONDAY + 3 * DAY_MS,
        kind: { type: 'pin', action: 'created' },
        actorId: 0n,
        ownerId: 0n,
      },
      ...{ pinId: undefined, rule: 0, points: 10, outcome: 'counted', weekStartMs: undefined },
    });
    assert.deepEqual(ledger.standing, { totalPoints: 20, participationScore: 20 });
    const other = await readLedger(organization.database, at, { scope: FULL_SCOPE, board: 0, user: 1 });
    assert.deepEqual(other.adjustments, [{ timestampMs: MONDAY, points: 3, reason: 'by hand' }]);
    assert.equal(other.imported, undefined);
    const figures = { totalPoints: 42, participationScore: 7 };
    assert.deepEqual(
      (await readLedger(organization.database, at, { scope: FULL_SCOPE, board: 0, user: 2 })).imported,
      figures,
    );
  });
});
