/**
 * Any sequence of imports, deletions, full deliveries, rollbacks, changes of settings, retention
 * and erasures gives the responses of the reference model, and a table that is updated with sync
 * tokens has the rows of a fresh export (decisions 19, 29, 54, 82, 83, 85).
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import type { PublicationOptions } from '../../src/store/store.ts';
import { IS_LONG } from '../long.ts';
import { answerTo } from '../model/answers.ts';
import {
  BOARD_IDS,
  EVENT_IDS,
  instantArbitrary,
  organizationArbitrary,
  PIN_IDS,
  scopeArbitrary,
  USER_IDS,
} from '../model/arbitrary.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { get, urlPathOf } from '../model/client.ts';
import { type Deletions, deleteFrom, deletionRecords, lackingIn, NO_DELETIONS } from '../model/deletions.ts';
import { type Deployment, holdsRecords, installPlan, openDeployment } from '../model/deployment.ts';
import { renderJson } from '../model/json.ts';
import { absorb, eventOf, type Model } from '../model/model.ts';
import { EVENT_LISTS, questionsAbout } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { CATALOGS, describeOver, STORAGES } from '../storage.ts';
import { SyncedTable } from './synced-table.ts';

const REPLACEABLE = ['users', 'boards', 'pins', 'memberships'] as const;

const some = <T>(ids: readonly T[]) => fc.subarray([...ids], { maxLength: 2 });
const pairs = fc.array(
  fc.record({ board_id: fc.constantFrom(...BOARD_IDS), user_id: fc.constantFrom(...USER_IDS) }),
  { maxLength: 2 },
);

const changeArbitrary = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('import' as const), place: fc.nat(1) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('delete' as const),
      users: some(USER_IDS),
      boards: some(BOARD_IDS),
      pins: some(PIN_IDS),
      eventIds: some(EVENT_IDS),
      /** Places of published records that are deleted by all their fields. */
      places: fc.array(fc.nat(20), { maxLength: 2 }),
      memberships: pairs,
      points: pairs,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('replace' as const),
      kinds: fc.subarray([...REPLACEABLE], { minLength: 1 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('forget' as const), id: fc.constantFrom(...USER_IDS) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('keep' as const), instantMs: instantArbitrary }) },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('rollback' as const), back: fc.constantFrom(1, 2) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('rename' as const), title: fc.constantFrom('One', 'Two') }),
  },
);
/** After most changes, clients sync. */
const stepArbitrary = fc.record({ change: changeArbitrary, syncs: fc.constantFrom(true, true, false) });
type Change = typeof changeArbitrary extends fc.Arbitrary<infer S> ? S : never;

const asked = fc.record({
  question: fc.constantFrom(...EVENT_LISTS),
  scope: fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
  limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});

type AskedTable = typeof asked extends fc.Arbitrary<infer A> ? A : never;

/** The first table of each history: few random ones contain what changes. */
const WHOLE: AskedTable = { question: { route: 'events' }, scope: FULL_SCOPE, limit: undefined };

describeOver(IS_LONG ? STORAGES : CATALOGS, 'a history of changes', {}, (kind) => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment(kind);
  });
  after(() => deployment.close());

  /** Waits until the new version is served, if there is one, and returns whether there is. */
  async function served(key: string, act: () => Promise<{ published: boolean }>) {
    const tag = async () => (await get(`${deployment.url}/a/v1/boards`, key)).headers.get('etag');
    const old = await tag();
    if (!(await act()).published) return false;
    while ((await tag()) === old) await delay(20);
    return true;
  }

  it('gives the responses of the model, and the same table to a client that syncs', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary.filter(({ bundles }) => bundles.length > 1),
      asked,
      fc.array(stepArbitrary, { minLength: 3, maxLength: 8 }),
      async (plan, another, steps) => {
        const tablesAsked = [WHOLE, another];
        const [first = EMPTY_BUNDLE, ...later] = plan.bundles.filter(holdsRecords);
        const installed = await installPlan(deployment, { ...plan, bundles: [first] });
        const { organization } = installed;
        let { model } = installed;
        /** The models of the kept versions, latest first. */
        let kept = [model];
        let firstMs = Number.NEGATIVE_INFINITY;
        const key = await deployment.makeKey(organization);
        const tables = await openTables(organization, tablesAsked);
        for (const { change, syncs } of steps) {
          if (change.does === 'keep') firstMs = startOfDay(change.instantMs);
          const { next: all, load } = take(change, kept, later, plan.format, firstMs);
          if (load === undefined) continue;
          const next = { ...all, events: all.events.filter(({ timestampMs }) => timestampMs >= firstMs) };
          const isPublished = await served(key, () => load(organization));
          const forgets = isSomebodyForgotten(model, next);
          model = next;
          if (forgets) kept = [model];
          else kept = [model, ...kept.slice(isPublished ? 0 : 1)].slice(0, 3);
          if (syncs) for (const { table } of tables) await table.catchUp();
        }
        for (const { scope } of tablesAsked) await compare(organization, model, scope);
        for (const { table, path, reader } of tables) {
          // The pages of a sync show the version of its first page, so a second sync may find more.
          for (let times = 0; times < 2; times += 1) await table.catchUp();
          const fresh = await get(deployment.url + path, reader, { accept: 'application/x-ndjson' });
          if (fresh.status === 200)
            assert.deepEqual(table.rows(), fresh.text.split('\n').slice(0, -1).toSorted(), path);
          else assert.equal(table.isMissing, true, fresh.text);
        }
      },
    );
    await fc.assert(property, runs(3, kind));
  });

  async function openTables(organization: string, all: readonly AskedTable[]) {
    return await Promise.all(
      all.map(async ({ question, scope, limit }) => {
        const path = urlPathOf('a', question, {}) ?? '';
        const reader = await deployment.makeKey(organization, { scope });
        const read = (target: string) =>
          get(deployment.url + target, reader, { accept: 'application/x-ndjson' });
        return { table: new SyncedTable(read, path, { limit }), path, reader };
      }),
    );
  }

  /**
   * The model after a step, and the import that makes it; absent when there is none. Imported
   * events before `firstMs` are too old to be kept.
   */
  function take(
    step: Change,
    kept: readonly Model[],
    later: readonly (typeof EMPTY_BUNDLE)[],
    format: 'csv' | 'ndjson',
    firstMs: number,
  ) {
    const [model] = kept as [Model];
    const bundle = later[step.does === 'import' ? step.place % later.length : 0] ?? EMPTY_BUNDLE;
    if (step.does === 'rollback') return takeBack(model, kept[step.back], step.back);
    if (step.does === 'keep') {
      return { next: model, load: (organization: string) => keepSince(organization, step.instantMs) };
    }
    if (step.does === 'rename') {
      const settings = { ...model.settings, title: step.title };
      return {
        next: { ...model, settings },
        load: (organization: string) => configure(organization, { title: step.title }),
      };
    }
    if (step.does === 'forget') {
      const users = [
        { id: step.id, email: `u${step.id}@example.org`, name: 'Said', forgotten: true as const },
      ];
      const erasing = { ...EMPTY_BUNDLE, users };
      return {
        next: absorb(model, erasing),
        load: (organization: string) => deployment.load(organization, erasing),
      };
    }
    if (step.does === 'delete') {
      const deletions = deletionsOf(step, model);
      const records = deletionRecords(deletions);
      const isEmpty = Object.values(records).every((each) => each.length === 0);
      return {
        next: deleteFrom(model, deletions),
        load: isEmpty
          ? undefined
          : (organization: string) => deployment.load(organization, records, 'ndjson', { cascades: true }),
      };
    }
    const kinds = step.does === 'replace' ? step.kinds.filter((each) => bundle[each].length > 0) : [];
    // Records that refer to what is missing would be refused.
    const lacking = lackingIn(model, bundle, kinds);
    const left = deleteFrom(model, lacking);
    if (!holdsRecords(bundle) || refersToMissing(left, bundle)) return { next: model, load: undefined };
    return {
      // An event that is too old is ignored, so a later one in the bundle may have its id.
      next: absorb(left, { ...bundle, events: bundle.events.filter((event) => isSince(event, firstMs)) }),
      load: (organization: string) =>
        deployment.load(organization, bundle, format, { cascades: true, replaced: kinds }),
    };
  }

  function takeBack(model: Model, target: Model | undefined, back: number) {
    if (target === undefined) return { next: model, load: undefined };
    return {
      next: rollBack(model, target),
      load: async (organization: string) => {
        const versions = await deployment.store.versions(organization);
        return await deployment.store.rollBack(organization, versions[back]!.publication, { waitMs: 0 });
      },
    };
  }

  async function keepSince(organization: string, instantMs: number) {
    const days = (startOfDay(Date.now()) - startOfDay(instantMs)) / DAY_MS;
    await deployment.store.changeRules(organization, { keptEvents: { days } });
    return await configure(organization, { whenOverdue: 'delete' });
  }

  async function configure(
    organization: string,
    { title, ...options }: Partial<PublicationOptions> & { readonly title?: string },
  ) {
    const publication = await deployment.store.beginPublication(organization, { waitMs: 0, ...options });
    try {
      if (title !== undefined) publication.changeSettings({ title });
      await publication.check(({ reason }) => assert.fail(reason));
      return await publication.publish();
    } finally {
      await publication.discard();
    }
  }

  async function compare(organization: string, model: Model, scope: Scope): Promise<void> {
    const key = await deployment.makeKey(organization, { scope });
    for (const question of questionsAbout(model)) {
      const path = urlPathOf('a', question, {});
      if (path === undefined) continue;
      const expected = answerTo(model, scope, 'a', question, {});
      const reply = await get(deployment.url + path, key);
      if (typeof expected === 'string') assert.equal(reply.status, 404, `${path}: ${reply.text}`);
      else assert.equal(reply.text, renderJson(expected), path);
    }
  }
});

const DAY_MS = 86_400_000;

function isSince(event: Parameters<typeof eventOf>[0], firstMs: number): boolean {
  return eventOf(event).timestampMs >= firstMs;
}

function startOfDay(instantMs: number): number {
  return instantMs - (instantMs % DAY_MS);
}

function deletionsOf(step: Extract<Change, { does: 'delete' }>, model: Model): Deletions {
  const at = <T>(all: readonly T[]) => step.places.flatMap((place) => all[place] ?? []);
  return {
    ...NO_DELETIONS,
    ...{ users: step.users, boards: step.boards, pins: step.pins },
    ...{ memberships: step.memberships, points: step.points },
    events: [
      ...step.eventIds.map((id) => ({ id })),
      ...at(model.events).map((event) => ({
        ...{ type: event.type, action: event.action, owner_id: event.ownerId, actor_id: event.actorId },
        ...{ board_id: event.boardId, timestamp: new Date(event.timestampMs).toISOString() },
        ...(event.pinId === undefined ? {} : { pin_id: event.pinId }),
      })),
    ],
    adjustments: at(model.adjustments).map((one) => ({
      ...{ user_id: one.userId, board_id: one.boardId, points: one.points, reason: one.reason },
      timestamp: new Date(one.timestampMs).toISOString(),
    })),
  };
}

/** Whether an import or an erasure has forgotten a known user: then no earlier version is kept. */
function isSomebodyForgotten(before: Model, after: Model): boolean {
  const known = new Set(before.users.filter(({ forgotten }) => !forgotten).map(({ id }) => id));
  return after.users.some(({ id, forgotten }) => forgotten && known.has(id));
}

/** Restored events come after those that are in both versions. */
function rollBack(model: Model, target: Model): Model {
  const known = new Set(model.events.map(({ identity }) => identity));
  const targets = new Map(target.events.map((event) => [event.identity, event]));
  const both = model.events.flatMap(({ identity }) => targets.get(identity) ?? []);
  const restored = target.events.filter(({ identity }) => !known.has(identity));
  return { ...target, events: [...both, ...restored] };
}

/** Whether a bundle refers to users, boards or pins that neither it nor the model has. */
function refersToMissing(model: Model, bundle: typeof EMPTY_BUNDLE): boolean {
  const has = (kind: 'users' | 'boards' | 'pins', id: bigint) =>
    model[kind].some((one) => one.id === id) || bundle[kind].some((one) => one.id === id);
  const pairsOf = [...bundle.memberships, ...bundle.points, ...bundle.adjustments];
  return !(
    pairsOf.every(({ user_id, board_id }) => has('users', user_id) && has('boards', board_id)) &&
    bundle.pins.every(({ owner_id, board_id }) => has('users', owner_id) && has('boards', board_id)) &&
    bundle.events.every(
      ({ owner_id, actor_id, board_id, pin_id }) =>
        has('users', owner_id) &&
        has('users', actor_id) &&
        has('boards', board_id) &&
        (pin_id === undefined || has('pins', pin_id)),
    )
  );
}
