/** Every page of the console on the demo data: no violation of accessibility in either theme, and a picture of each. */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import axe from 'axe-core';
import { AT_ONCE, NO_BROWSER } from './browser.ts';
import { BOARD, type ConsoleStand, openConsole, PERSON, type Visit } from './visit.ts';

const SCREENSHOTS = join(import.meta.dirname, 'screenshots');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

const PAGES = [
  { name: 'overview', path: '/', heading: 'Stack Exchange Demo' },
  { name: 'boards', path: '/console/boards', heading: 'Boards' },
  { name: 'board', path: `/console/boards/${BOARD}`, heading: 'conlang meta: discussion' },
  {
    name: 'board-standings',
    path: `/console/boards/${BOARD}/standings`,
    heading: 'conlang meta: discussion',
  },
  { name: 'board-pins', path: `/console/boards/${BOARD}/pins`, heading: 'conlang meta: discussion' },
  { name: 'board-people', path: `/console/boards/${BOARD}/people`, heading: 'conlang meta: discussion' },
  {
    name: 'board-interactions',
    path: `/console/boards/${BOARD}/interactions`,
    heading: 'conlang meta: discussion',
  },
  { name: 'people', path: '/console/people', heading: 'People' },
  { name: 'person', path: `/console/people/${PERSON}`, heading: 'Gregory Nisbet' },
  { name: 'person-points', path: `/console/people/${PERSON}/points`, heading: 'Gregory Nisbet' },
  { name: 'person-ledger', path: `/console/people/${PERSON}/ledger`, heading: 'Gregory Nisbet' },
  { name: 'events', path: '/console/events', heading: 'Events' },
  { name: 'api', path: '/console/api', heading: 'API' },
  {
    name: 'nothing-in-range',
    path: '/?from=2001-01-01&to=2001-01-31&zone=UTC',
    heading: 'Stack Exchange Demo',
  },
  { name: 'not-visible', path: '/console/boards/404', heading: 'Board 404' },
  { name: 'no-such-page', path: '/console/elsewhere', heading: 'No such page' },
] as const;

/** Pages that the server makes; they need no script. */
const PLAIN_PAGES = ['/docs', '/problems/not-found'];
/** Cumulative Layout Shift up to which a page counts as good (web.dev). */
const GOOD_SHIFT = 0.1;
/** Long enough for a page to be painted before its data come. */
const RESPONSE_DELAY_MS = 150;
const IS_CLIPPED = `[...document.querySelectorAll('.table tbody tr > :first-child')].some(
  (cell) => cell.scrollWidth > cell.clientWidth)`;

/** How far everything that has been painted has moved since; without a shift the observer is never called. */
const LAYOUT_SHIFT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    resolve(list.getEntries().reduce((sum, { value }) => sum + value, 0));
  }).observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(0), 500);
})`;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

describe('pages', { skip: NO_BROWSER, concurrency: AT_ONCE }, () => {
  let stand: ConsoleStand;
  before(async () => {
    await mkdir(SCREENSHOTS, { recursive: true });
    stand = await openConsole();
  });
  after(() => stand.close());

  /** What axe finds, in words. The policy of the page allows no script of ours, so it comes by way of the debugger. */
  async function violationsOf({ page }: Visit): Promise<string[]> {
    await page.evaluate(axe.source);
    const found = await page.evaluate(
      async (values): Promise<readonly Violation[]> =>
        (await Reflect.get(globalThis, 'axe').run({ runOnly: { type: 'tag', values } })).violations,
      TAGS,
    );
    return found.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    );
  }

  for (const theme of ['light', 'dark'] as const) {
    for (const [size, width] of [
      ['wide', 1360],
      ['phone', 320],
    ] as const) {
      it(`are without a violation and fit, ${theme}, ${size}`, async () => {
        const visit = await stand.visit({ theme, width });
        visit.forgive(/404 \(Not Found\)/);
        const found: string[] = [];
        for (const { name, path, heading } of PAGES) {
          // By its address, and by the links of the console.
          if (size === 'wide') await visit.go(path);
          else await visit.follow(path);
          assert.equal(await visit.page.getByRole('heading', { level: 1 }).textContent(), heading);
          assert.equal(await visit.page.locator('.skeleton').count(), 0, `${name} has loaded`);
          found.push(...(await violationsOf(visit)).map((violation) => `${name}: ${violation}`));
          const beyond = await visit.page.evaluate('document.documentElement.scrollWidth - innerWidth');
          assert.equal(beyond, 0, `${name} does not scroll sideways`);
          const file = join(SCREENSHOTS, `${name}-${theme}-${size}.png`);
          await visit.page.screenshot({ path: file, fullPage: true });
        }
        assert.deepEqual(found, []);
        await visit.end();
      });
    }

    it(`that ask for a key and for a range are without a violation, ${theme}`, async () => {
      const visit = await stand.visit({ theme, width: 900, key: undefined });
      visit.forgive(/401 \(Unauthorized\)/);
      const { page } = visit;
      await page.getByLabel('API key').fill('cork_wrong');
      await page.keyboard.press('Enter');
      await page.locator('.door-trouble').waitFor();
      assert.deepEqual(await violationsOf(visit), []);
      await page.screenshot({ path: join(SCREENSHOTS, `key-${theme}.png`) });
      await page.getByLabel('API key').fill(stand.key);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: /^Range/ }).click();
      await visit.settle();
      assert.deepEqual(await violationsOf(visit), []);
      await page.screenshot({ path: join(SCREENSHOTS, `range-${theme}.png`) });
      await visit.end();
    });
  }

  for (const width of [1360, 360]) {
    it(`hardly move while their data come, ${width} pixels wide`, async () => {
      const visit = await stand.visit({ width });
      visit.forgive(/404 \(Not Found\)/);
      await visit.page.route('**/v1/**', async (route) => {
        await pause(RESPONSE_DELAY_MS);
        await route.continue();
      });
      const shifts: Record<string, unknown> = {};
      for (const { name, path } of PAGES) {
        await visit.go(path);
        shifts[name] = await visit.page.evaluate(LAYOUT_SHIFT);
      }
      const tooFar = Object.entries(shifts).filter(([, shift]) => Number(shift) >= GOOD_SHIFT);
      assert.deepEqual(tooFar, []);
      await visit.end();
    });
  }

  it('show the whole time of each event and award', async () => {
    // Times are longest in this locale.
    const visit = await stand.visit({ width: 1400, locale: 'en-US' });
    for (const path of ['/console/events', `/console/people/${PERSON}/ledger`]) {
      await visit.go(path);
      assert.equal(await visit.page.evaluate(IS_CLIPPED), false, path);
    }
    await visit.end();
  });

  it('of the server itself are without a violation and fit a small phone', async () => {
    const visit = await stand.visit({ width: 320 });
    const found: string[] = [];
    for (const path of PLAIN_PAGES) {
      await visit.page.goto(stand.url + path);
      found.push(...(await violationsOf(visit)).map((violation) => `${path}: ${violation}`));
      assert.equal(await visit.page.locator('main').count(), 1, path);
      const beyond = await visit.page.evaluate('document.documentElement.scrollWidth - innerWidth');
      assert.equal(beyond, 0, `${path} does not scroll sideways`);
    }
    assert.deepEqual(found, []);
    await visit.end();
  });

  it('keep a chart whose frame has no room for a moment, as when they are printed', async () => {
    const visit = await stand.visit();
    await visit.go(`/console/boards/${BOARD}/interactions`);
    await visit.page.evaluate("document.querySelector('.network').style.width = '0'");
    // Longer than a chart waits before it takes another width.
    await visit.page.waitForTimeout(300);
    assert.equal(await visit.page.evaluate("document.querySelector('.network').clientWidth"), 0);
    assert.equal(await visit.page.locator('.network svg').count(), 1);
    await visit.end();
  });

  it('are painted first within a second', async () => {
    const visit = await stand.visit();
    await visit.go('/');
    const paint = await visit.page.evaluate(
      "performance.getEntriesByName('first-contentful-paint')[0].startTime",
    );
    assert.ok(typeof paint === 'number' && paint < 1000, `first paint after ${paint} ms`);
    await visit.end();
  });
});
