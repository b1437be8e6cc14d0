/** Scopes hide everything outside them, and the results inside do not depend on hidden records. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { IS_LONG } from '../long.ts';
import { BOARD_IDS, type OrganizationPlan, organizationArbitrary, USER_IDS } from '../model/arbitrary.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { get, getSame, nextOf, urlPathOf } from '../model/client.ts';
import { type BothReadings, installPlan, openBothReadings, urlsInTurn } from '../model/deployment.ts';
import type { Model } from '../model/model.ts';
import { questionsAbout } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { visibleBoards, visibleEvents, visibleUsers } from '../model/scope-model.ts';

/** Explicit lists of boards and users, so that the hidden ones are known without computation. */
const listedScope = fc.record({ boards: fc.subarray(BOARD_IDS), users: fc.subarray(USER_IDS) });

/** The exact ids in a response, as `board:7` and `user:1`. */
function idsIn(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const value = /"(owner|actor|board)":\{"id":(-?\d+)|"(user|board)_id":(-?\d+)/g;
  for (const [, role, id, kind, other] of text.matchAll(value)) {
    found.add(`${kind ?? (role === 'board' ? 'board' : 'user')}:${id ?? other}`);
  }
  return found;
}

/** Scopes that hide some boards or some users. */
const hidingScope: fc.Arbitrary<Scope> = fc.oneof(
  fc.record({
    boards: fc.subarray(BOARD_IDS, { minLength: 1, maxLength: 2 }),
    users: fc.constantFrom('all' as const, 'of-boards' as const),
  }),
  fc.record({ boards: fc.constant('all' as const), users: fc.subarray(USER_IDS, { minLength: 2 }) }),
);

/** The same organization without the events that the scope hides. */
function withoutHidden(plan: OrganizationPlan, model: Model, scope: Scope): OrganizationPlan {
  const events = visibleEvents(model, scope).map((event, place) => ({
    ...{ id: BigInt(place), type: event.type, action: event.action, owner_id: event.ownerId },
    ...{ actor_id: event.actorId, board_id: event.boardId },
    ...(event.pinId === undefined ? {} : { pin_id: event.pinId }),
    ...(event.body === undefined ? {} : { body: event.body }),
    timestamp: new Date(event.timestampMs).toISOString(),
  }));
  const things = plan.bundles.map((bundle) => ({ ...bundle, events: [] }));
  return { ...plan, bundles: [...things, { ...EMPTY_BUNDLE, events }] };
}

/**
 * The most distinct instants that are tested, spread from the first to the last; long runs test
 * all.
 */
const INSTANTS = IS_LONG ? Number.POSITIVE_INFINITY : 8;

function someOf(instants: readonly number[]): readonly number[] {
  const all = [...new Set(instants)];
  const every = Math.max(1, Math.ceil(all.length / INSTANTS));
  return all.filter((_, at) => at % every === 0);
}

interface Ledger {
  readonly lines: readonly { readonly timestamp: string | null; readonly running_total: number }[];
  readonly counted_points: number;
  readonly adjusted_points: number;
}

/**
 * The lines with a time, the total of the points fields, and the running total of the last line.
 */
function ledgerIn(text: string) {
  const { lines, counted_points, adjusted_points }: Ledger = JSON.parse(text);
  return {
    lines: lines.filter(({ timestamp }) => timestamp !== null),
    points: counted_points + adjusted_points,
    total: lines.at(-1)?.running_total ?? 0,
  };
}

describe('scope', () => {
  let deployment: BothReadings;
  before(async () => {
    deployment = await openBothReadings();
  });
  after(() => deployment.close());

  it('hides all boards and users outside it, in any route, map name or page', async () => {
    const property = fc.asyncProperty(organizationArbitrary, listedScope, async (plan, scope) => {
      const { organization, model } = await installPlan(deployment, plan);
      const key = await deployment.makeKey(organization, { scope });
      const inside = new Set([
        ...scope.boards.map((id) => `board:${id}`),
        ...scope.users.map((id) => `user:${id}`),
      ]);
      const hidden = model.users.filter((user) => !scope.users.includes(user.id));
      const [resident, direct] = deployment.urls;
      for (const [url, variant] of [
        [resident, 'a'],
        [resident, 'b'],
        [direct, 'a'],
      ] as const) {
        for (const [at, question] of questionsAbout(model).entries()) {
          if (!IS_LONG && url === direct && at % 2 === 1) continue;
          for (let path = urlPathOf(variant, question); path !== undefined; ) {
            const reply = await get(url + path, key);
            for (const id of idsIn(reply.text)) assert.ok(inside.has(id), `${path} shows ${id}`);
            for (const { email } of hidden)
              assert.ok(!reply.text.includes(`"${email}"`), `${path} shows ${email}`);
            path = nextOf(reply);
          }
        }
        for (const list of ['boards', 'users'] as const) {
          const reply = await get(`${url}/${variant}/v1/${list}`, key);
          const ids = [...reply.text.matchAll(/\{"id":(-?\d+)/g)].map((match) => BigInt(match[1] ?? ''));
          for (const id of ids) assert.ok(scope[list].includes(id), `${list} shows ${id}`);
        }
      }
    });
    await fc.assert(property, runs(6));
  });

  it('has the same lists in ranges, and the same ledgers, as if hidden events did not exist', async () => {
    const property = fc.asyncProperty(
      ...([organizationArbitrary, hidingScope] as const),
      async (plan, scope) => {
        const whole = await installPlan(deployment, plan);
        const part = await installPlan(deployment, withoutHidden(plan, whole.model, scope));
        const asked = async (organization: string, granted: Scope) => {
          const key = await deployment.makeKey(organization, { scope: granted });
          let at = 0;
          return async (path: string) => (await getSame(urlsInTurn(deployment, at++), path, key)).text;
        };
        const [inWhole, inPart] = [
          await asked(whole.organization, scope),
          await asked(part.organization, scope),
        ];
        const withEverything = await asked(whole.organization, FULL_SCOPE);
        for (const startMs of someOf(whole.model.events.map(({ timestampMs }) => timestampMs))) {
          for (const route of ['boards', 'users'] as const) {
            const path = urlPathOf('a', { route }, { startMs, endMs: startMs + 1 }) ?? '';
            assert.equal(await inWhole(path), await inPart(path));
          }
        }
        for (const board of visibleBoards(whole.model, scope)) {
          for (const user of visibleUsers(whole.model, scope)) {
            const path = `/insights/v1/boards/${board.id}/users/${user.id}/ledger`;
            const { lines, points, total } = ledgerIn(await inWhole(path));
            assert.deepEqual(lines, ledgerIn(await inPart(path)).lines);
            assert.equal(total, points);
            assert.equal(points, ledgerIn(await withEverything(path)).points);
          }
        }
      },
    );
    await fc.assert(property, runs(2));
  });
});
