/**
 * Who needs attention on a board, compared with the events and points of the same key
 * (decision 94).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import {
  instantArbitrary,
  organizationArbitrary,
  redactionArbitrary,
  scopeArbitrary,
} from '../model/arbitrary.ts';
import { assertSuccess, get } from '../model/client.ts';
import { type BothReadings, installPlan, openBothReadings, urlsInTurn } from '../model/deployment.ts';
import { type Exported, parseExact } from '../model/insights-model.ts';
import { runs } from '../model/runs.ts';

const DAY_MS = 86_400_000;

interface Item {
  readonly user: { readonly id: string };
  readonly last: string | null;
  readonly inactive_days: number | null;
  readonly inactive: boolean;
  readonly behind: boolean;
  readonly total_points: number;
  readonly participation_score: number;
}

interface Answer {
  readonly at: string | null;
  readonly days: number;
  readonly people: number;
  readonly median_points: number;
  readonly inactive_people: number;
  readonly behind_people: number;
  readonly attention: readonly Item[];
  readonly attention_people: number;
}

interface PointsRecord extends Pick<Item, 'total_points' | 'participation_score'> {
  readonly user_id: string;
}

/** The lower of the two in the middle. */
function medianOf(points: readonly number[]): number {
  return points.toSorted((one, other) => one - other)[(points.length - 1) >> 1] ?? 0;
}

function expectedOf(
  events: readonly Exported[],
  points: readonly PointsRecord[],
  days: number,
  atMs: number | undefined,
): Omit<Answer, 'days'> {
  const time = ({ timestamp }: Exported) => Date.parse(timestamp);
  const at = atMs ?? (events.length === 0 ? undefined : Math.max(...events.map(time)));
  const median = medianOf(points.map(({ total_points }) => total_points));
  const all = points.map(({ user_id, total_points, participation_score }): Item => {
    const own = events.filter((event) => event.actor.id === user_id && time(event) <= (at ?? 0));
    const last = own.length === 0 ? undefined : Math.max(...own.map(time));
    const sinceDays = last === undefined ? undefined : (at! - last) / DAY_MS;
    return {
      user: { id: user_id },
      last: last === undefined ? null : formatted(last),
      inactive_days: sinceDays === undefined ? null : Math.floor(sinceDays),
      inactive: sinceDays === undefined || sinceDays >= days,
      behind: total_points < median / 2,
      ...{ total_points, participation_score },
    };
  });
  const attention = all.filter(({ inactive, behind }) => inactive || behind);
  const never = attention.filter(({ last }) => last === null);
  const acted = attention.filter(({ last }) => last !== null);
  return {
    at: at === undefined ? null : formatted(at),
    ...{ people: points.length, median_points: median },
    inactive_people: all.filter(({ inactive }) => inactive).length,
    behind_people: all.filter(({ behind }) => behind).length,
    attention: [
      ...never.toSorted((one, other) => one.total_points - other.total_points),
      ...acted.toSorted((one, other) => Date.parse(one.last!) - Date.parse(other.last!)),
    ],
    attention_people: attention.length,
  };
}

function formatted(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '+00:00');
}

describe('who needs attention on a board', () => {
  let deployment: BothReadings;
  before(async () => {
    deployment = await openBothReadings();
  });
  after(() => deployment.close());

  it('is who has no events for that long, or less than half the median of the points', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
      redactionArbitrary,
      fc.array(fc.tuple(fc.constantFrom(1, 2, 9), fc.option(instantArbitrary, { nil: undefined })), {
        minLength: 4,
        maxLength: 4,
      }),
      async (plan, scope, redact, questions) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope, redact });
        let at = 0;
        const load = async <T>(path: string) => {
          const reply = await get(urlsInTurn(deployment, at++)[0] + path, key);
          assertSuccess(reply);
          return parseExact(reply.text) as T;
        };
        for (const { id } of await load<{ id: string }[]>('/b/v1/boards')) {
          const events = await load<Exported[]>(`/b/v1/board/${id}`);
          const points = Object.values(await load<Record<string, PointsRecord>>(`/a/v1/board/${id}/points`));
          for (const [days, atMs] of questions) {
            const query = `days=${days}${atMs === undefined ? '' : `&at=${atMs}`}`;
            const path = `/insights/v1/boards/${id}/attention?${query}`;
            const { attention, ...whole } = await load<Answer & { readonly board: object }>(path);
            const expected = expectedOf(events, points, days, atMs);
            const shown = attention.map(({ user, ...item }) => ({ user: { id: user.id }, ...item }));
            const { board: _, ...counts } = whole;
            assert.deepEqual({ ...counts, attention: shown }, { ...expected, days });
            const first = await load<Answer>(`${path}&top=1`);
            assert.deepEqual({ ...first, attention }, { ...whole, attention });
            assert.deepEqual(first.attention, attention.slice(0, 1));
          }
        }
      },
    );
    await fc.assert(property, runs(8));
  });
});
