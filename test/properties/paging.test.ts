/** The pages of a list form a snapshot, even if versions are published in between (decision 18). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { organizationArbitrary, scopeArbitrary } from '../model/arbitrary.ts';
import { EMPTY_BUNDLE, type EventInput } from '../model/bundle.ts';
import { get, nextOf, urlPathOf } from '../model/client.ts';
import { type BothReadings, installPlan, openBothReadings, urlsInTurn } from '../model/deployment.ts';
import { EVENT_LISTS } from '../model/questions.ts';
import { runs } from '../model/runs.ts';

describe('paging', () => {
  let deployment: BothReadings;
  before(async () => {
    deployment = await openBothReadings();
  });
  after(() => deployment.close());

  /** The elements of all pages from `path` on, as one JSON array. */
  async function walk(url: string, path: string, key: string): Promise<string> {
    const pages = [await readPage(url, path, key)];
    for (let page = pages[0]; page?.next !== undefined; ) {
      page = await readPage(url, page.next, key);
      // A page may be empty only if the whole list is empty.
      assert.notEqual(page.elements, '');
      pages.push(page);
    }
    return `[${pages.map(({ elements }) => elements).join(',')}]`;
  }

  async function readPage(url: string, path: string, key: string) {
    const reply = await get(url + path, key);
    assert.equal(reply.status, 200, reply.text);
    return { elements: reply.text.slice(1, -1), next: nextOf(reply) };
  }

  it('gives the same list as one response, with any page size, for every list in every scope', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
      fc.integer({ min: 1, max: 3 }),
      async (plan, scope, limit) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope });
        const lists = [...EVENT_LISTS, { route: 'users' } as const, { route: 'boards' } as const];
        for (const [at, question] of lists.entries()) {
          const path = urlPathOf('b', question) ?? '';
          for (const url of urlsInTurn(deployment, at)) {
            const whole = await get(url + path, key);
            if (whole.status === 200)
              assert.equal(await walk(url, `${path}?limit=${limit}`, key), whole.text, path);
          }
        }
      },
    );
    await fc.assert(property, runs(2));
  });

  /** Publishes events and waits until both servers serve them. */
  async function publish(organization: string, events: readonly EventInput[], key: string): Promise<void> {
    const tag = async (url: string) => (await get(`${url}/a/v1/boards`, key)).headers.get('etag');
    const old = await Promise.all(deployment.urls.map(tag));
    const report = await deployment.load(organization, { ...EMPTY_BUNDLE, events });
    for (const [at, url] of deployment.urls.entries())
      while (report.published && (await tag(url)) === old[at]) await delay(20);
  }

  it('returns the version of the first page to the end, while late and new events are published', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary.filter(({ bundles }) => bundles.slice(1).some(({ events }) => events.length > 2)),
      fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
      fc.integer({ min: 1, max: 3 }),
      async (plan, scope, limit) => {
        const [first, ...later] = plan.bundles;
        const { organization } = await installPlan(deployment, { ...plan, bundles: first ? [first] : [] });
        const key = await deployment.makeKey(organization, { scope });
        const walks: { url: string; expected: string; pages: string[]; next: string | undefined }[] = [];
        const begin = async () => {
          for (const [at, question] of EVENT_LISTS.entries()) {
            const path = urlPathOf('a', question) ?? '';
            for (const url of urlsInTurn(deployment, at)) {
              const whole = await get(url + path, key);
              if (whole.status !== 200) continue;
              const { elements, next } = await readPage(url, `${path}?limit=${limit}`, key);
              walks.push({ url, expected: whole.text, pages: [elements], next });
            }
          }
        };
        await begin();
        for (const { events } of later.filter((bundle) => bundle.events.length > 0)) {
          await publish(organization, events, key);
          for (const going of walks) {
            if (going.next === undefined) continue;
            const { elements, next } = await readPage(going.url, going.next, key);
            going.pages.push(elements);
            going.next = next;
          }
          await begin();
        }
        for (const { url, expected, pages, next } of walks) {
          const rest = next === undefined ? '' : (await walk(url, next, key)).slice(1, -1);
          assert.equal(`[${[...pages, ...(rest === '' ? [] : [rest])].join(',')}]`, expected);
        }
      },
    );
    await fc.assert(property, runs(6));
  });
});
