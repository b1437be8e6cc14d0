/**
 * A table that is updated with sync tokens has the rows of a fresh export, for all imports,
 * corrections and erasures in between, and wherever the client was interrupted (decisions 19, 54).
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import {
  BOARD_IDS,
  organizationArbitrary,
  rangeArbitrary,
  redactionArbitrary,
  scopeArbitrary,
  USER_IDS,
} from '../model/arbitrary.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get, urlPathOf } from '../model/client.ts';
import { type Deployment, holdsRecords, installPlan, openDeployment } from '../model/deployment.ts';
import { EVENT_LISTS } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { describeOverStorages } from '../storage.ts';
import { SyncedTable } from './synced-table.ts';

/** The steps of a random history. */
const stepArbitrary = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('publish' as const), part: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('forget' as const), id: fc.constantFrom(...USER_IDS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('rename' as const), title: fc.constantFrom('One', 'Two') }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('read' as const), pages: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('crash' as const) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('sync' as const) }) },
);

const asked = fc.record({
  variant: fc.constantFrom('a' as const, 'b' as const),
  question: fc.constantFrom(...EVENT_LISTS),
  scope: fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
  range: fc.oneof(fc.constant({}), rangeArbitrary),
  redact: redactionArbitrary,
  limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  format: fc.constantFrom('json' as const, 'ndjson' as const),
});

describeOverStorages('a synced table', (kind) => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment(kind);
  });
  after(() => deployment.close());

  /** Runs an action that may publish, and waits until the new version is served. */
  async function publishing(key: string, act: () => Promise<{ published: boolean }>) {
    const tag = async () => (await get(`${deployment.url}/a/v1/boards`, key)).headers.get('etag');
    const old = await tag();
    if (!(await act()).published) return;
    while ((await tag()) === old) await delay(20);
  }

  async function forget(organization: string, id: bigint): Promise<{ published: boolean }> {
    const users = [{ id, email: `u${id}@example.org`, name: 'Said', forgotten: true as const }];
    return await deployment.load(organization, { ...EMPTY_BUNDLE, users });
  }

  async function rename(organization: string, title: string): Promise<{ published: boolean }> {
    const publication = await deployment.store.beginPublication(organization, { waitMs: 0 });
    publication.changeSettings({ title });
    const outcome = await publication.publish();
    await publication.discard();
    return outcome;
  }

  it('finally equals a fresh export, for every list in every scope and range', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary.filter(({ bundles }) => bundles.length > 1),
      fc.array(asked, { minLength: 3, maxLength: 3 }),
      fc.array(stepArbitrary, { minLength: 4, maxLength: 12 }),
      async (plan, all, steps) => {
        const [first = EMPTY_BUNDLE, ...later] = plan.bundles.filter(holdsRecords);
        const { organization } = await installPlan(deployment, { ...plan, bundles: [first] });
        const full = await deployment.makeKey(organization);
        const tables: { table: SyncedTable; path: string; key: string }[] = [];
        for (const { variant, question, scope, range, redact, limit, format } of all) {
          const path = urlPathOf(variant, question, range) ?? '';
          const key = await deployment.makeKey(organization, { scope, redact });
          const read = (target: string) => get(deployment.url + target, key);
          for (const tokenFrom of ['header', 'record'] as const)
            tables.push({ table: new SyncedTable(read, path, { limit, tokenFrom, format }), path, key });
        }
        const eachTable = async (act: (table: SyncedTable) => Promise<void> | void) => {
          for (const { table } of tables) await act(table);
        };
        let bundles: readonly Bundle[] = later;
        for (const step of steps) {
          if (step.does === 'publish') {
            const [bundle, ...rest] = bundles;
            bundles = rest;
            if (bundle === undefined) continue;
            await publishing(full, () => deployment.load(organization, bundle, plan.format));
          } else if (step.does === 'forget') {
            await publishing(full, () => forget(organization, step.id));
          } else if (step.does === 'rename') {
            await publishing(full, () => rename(organization, step.title));
          } else if (step.does === 'read') {
            for (let page = 0; page < step.pages; page += 1) await eachTable((table) => table.readPage());
          } else if (step.does === 'crash') {
            await eachTable((table) => table.crash());
          } else {
            await eachTable((table) => table.catchUp());
          }
        }
        await eachTable((table) => table.catchUp());
        // The pages of a sync show the version of its first page, so a second sync may find more.
        await eachTable((table) => table.catchUp());
        for (const { table, path, key } of tables) {
          const fresh = await get(deployment.url + path, key, { accept: 'application/x-ndjson' });
          if (fresh.status === 200)
            assert.deepEqual(table.rows(), fresh.text.split('\n').slice(0, -1).toSorted(), path);
          else assert.equal(table.isMissing, true, fresh.text);
        }
      },
    );
    await fc.assert(property, runs(2, kind));
  });

  it('requires a token of the same query, scope and redaction', async () => {
    const bundle = { ...EMPTY_BUNDLE, boards: BOARD_IDS.map((id) => ({ id, title: `Board ${id}` })) };
    const organization = `tokens-${kind.store}-${kind.resident}`;
    await deployment.load(organization, bundle);
    const key = await deployment.makeKey(organization);
    const token = async (path: string) => (await get(deployment.url + path, key)).headers.get('sync-token');
    const held = await token('/a/v1/events');
    assert.match(held ?? '', /^[\w-]{54}$/);
    assert.equal((await get(`${deployment.url}/a/v1/events?since=${held}`, key)).text, '[]');
    const scoped = await deployment.makeKey(organization, { scope: { boards: [7n], users: 'all' } });
    const redacted = await deployment.makeKey(organization, {
      redact: { email: true, name: false, id: false },
    });
    const refusals: readonly (readonly [string, string])[] = [
      [`/b/v1/events?since=${held}`, key],
      [`/a/v1/events/pins?since=${held}`, key],
      [`/a/v1/events/board/7?since=${held}`, key],
      [`/a/v1/events?start=0&since=${held}`, key],
      [`/a/v1/events?since=${held}`, scoped],
      [`/a/v1/events?since=${held}`, redacted],
      [`/a/v1/events?since=${'A'.repeat(22)}`, key],
      ['/a/v1/events?since=begin', key],
    ];
    for (const [path, by] of refusals) {
      const reply = await get(deployment.url + path, by);
      assert.equal(reply.status, 400, path);
      const isOfOtherKey = by !== key;
      assert.match(reply.text, isOfOtherKey ? /"code":"since-scope-changed"/ : /"code":"since-invalid"/);
    }
    assert.equal((await get(`${deployment.url}/a/v1/events?since=start&format=csv`, key)).status, 406);
  });
});
