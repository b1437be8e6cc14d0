/** Walks through pages are snapshots, whatever is published while somebody walks (decision 18). */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/dataset/scope.ts';
import { organizationArbitrary, scopeArbitrary } from '../model/arbitrary.ts';
import { EMPTY_BUNDLE, type EventInput } from '../model/bundle.ts';
import { get, nextOf, urlPathOf } from '../model/client.ts';
import { type Deployment, installPlan, openDeployment } from '../model/deployment.ts';
import { EVENT_LISTS } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { describeOverStorages } from '../storage.ts';

describeOverStorages('paging', (kind) => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment(kind);
  });
  after(() => deployment.close());

  /** The elements of all pages from `path` on. */
  async function walk(path: string, key: string): Promise<string> {
    const pages = [await readPage(path, key)];
    for (let page = pages[0]; page?.next !== undefined; ) {
      page = await readPage(page.next, key);
      // Only an answer that is empty as a whole may be an empty page.
      assert.notEqual(page.elements, '');
      pages.push(page);
    }
    return `[${pages.map(({ elements }) => elements).join(',')}]`;
  }

  async function readPage(path: string, key: string) {
    const reply = await get(deployment.url + path, key);
    assert.equal(reply.status, 200, reply.text);
    return { elements: reply.text.slice(1, -1), next: nextOf(reply) };
  }

  it('gives the same list as one answer, with any size of page, for every list in every scope', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
      fc.integer({ min: 1, max: 3 }),
      async (plan, scope, limit) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope });
        for (const question of [...EVENT_LISTS, { route: 'users' } as const, { route: 'boards' } as const]) {
          const path = urlPathOf('b', question) ?? '';
          const whole = await get(deployment.url + path, key);
          if (whole.status === 200) assert.equal(await walk(`${path}?limit=${limit}`, key), whole.text, path);
        }
      },
    );
    await fc.assert(property, runs(4, kind));
  });

  /** Publishes events and waits until they are served. */
  async function publish(organization: string, events: readonly EventInput[], key: string): Promise<void> {
    const tag = async () => (await get(`${deployment.url}/a/v1/boards`, key)).headers.get('etag');
    const old = await tag();
    const report = await deployment.load(organization, { ...EMPTY_BUNDLE, events });
    while (report.published && (await tag()) === old) await delay(20);
  }

  it('walks through what was published when each walk began, while late and new events are published', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary.filter(({ bundles }) => bundles.slice(1).some(({ events }) => events.length > 2)),
      fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
      fc.integer({ min: 1, max: 3 }),
      async (plan, scope, limit) => {
        const [first, ...later] = plan.bundles;
        const { organization } = await installPlan(deployment, { ...plan, bundles: first ? [first] : [] });
        const key = await deployment.makeKey(organization, { scope });
        const walks: { expected: string; pages: string[]; next: string | undefined }[] = [];
        const begin = async () => {
          for (const question of EVENT_LISTS) {
            const path = urlPathOf('a', question) ?? '';
            const whole = await get(deployment.url + path, key);
            if (whole.status !== 200) continue;
            const { elements, next } = await readPage(`${path}?limit=${limit}`, key);
            walks.push({ expected: whole.text, pages: [elements], next });
          }
        };
        await begin();
        for (const { events } of later.filter((bundle) => bundle.events.length > 0)) {
          await publish(organization, events, key);
          for (const going of walks) {
            if (going.next === undefined) continue;
            const { elements, next } = await readPage(going.next, key);
            going.pages.push(elements);
            going.next = next;
          }
          await begin();
        }
        for (const { expected, pages, next } of walks) {
          const rest = next === undefined ? '' : (await walk(next, key)).slice(1, -1);
          assert.equal(`[${[...pages, ...(rest === '' ? [] : [rest])].join(',')}]`, expected);
        }
      },
    );
    await fc.assert(property, runs(4, kind));
  });
});
