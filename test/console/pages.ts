/**
 * Every page of the console with the demo data: no accessibility violations in either theme, and a
 * screenshot of each page.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { IS_LONG } from '../long.ts';
import { until } from '../server/stand.ts';
import { AT_ONCE } from './browser.ts';
import { stand } from './shared-stand.ts';
import { BOARD, NEXT_FRAMES, PERSON, type Visit } from './visit.ts';

const SCREENSHOTS = join(import.meta.dirname, 'screenshots');
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const ALL_RULES = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};
const COLOUR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };
export const THEMES = [
  ['light', ALL_RULES],
  ['dark', COLOUR_RULES],
] as const;
const [WIDE, PHONE] = [1360, 320];
/** Widths at which every page is checked, in both themes. Short runs only measure it on a phone. */
export const LOOKS = [
  { size: 'wide', width: WIDE },
  ...(IS_LONG ? [{ size: 'phone', width: PHONE }] : []),
] as const;
/** Pages move most where they are narrow. */
const SHIFT_WIDTHS = IS_LONG ? [1360, 360] : [360];

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
  { name: 'people', path: '/console/people', heading: 'Users' },
  { name: 'person', path: `/console/people/${PERSON}`, heading: 'Gregory Nisbet' },
  { name: 'person-points', path: `/console/people/${PERSON}/points`, heading: 'Gregory Nisbet' },
  { name: 'person-ledger', path: `/console/people/${PERSON}/ledger`, heading: 'Gregory Nisbet' },
  { name: 'events', path: '/console/events', heading: 'Events' },
  {
    name: 'nothing-in-range',
    path: '/?from=2001-01-01&to=2001-01-31&zone=UTC',
    heading: 'Stack Exchange Demo',
  },
  { name: 'not-visible', path: '/console/boards/404', heading: 'Board 404' },
  { name: 'no-such-page', path: '/console/elsewhere', heading: 'Page not found' },
] as const;

/** Pages that the server makes; they need no script. */
const PLAIN_PAGES = ['/docs/api/plain', '/problems/not-found'];
/** Cumulative Layout Shift up to which a page counts as good (web.dev). */
const GOOD_SHIFT = 0.1;
/** Long enough that a page is painted before its data arrive. */
const LATENCY_MS = 150;
/** Longer than the delay before a chart takes a new width. */
const CHART_WAITS_MS = 300;
const CHART_IS_REDRAWN = `${NEXT_FRAMES}.then(() => new Promise((resolve) => setTimeout(resolve, ${CHART_WAITS_MS})))`;
/** The number of cells with times, and the texts of those that are cut off. */
const TIMES = `(() => {
  const cells = [...document.querySelectorAll('.table tbody .is-time')];
  const cut = cells.filter((cell) => cell.scrollWidth > cell.clientWidth);
  return [cells.length, ...cut.map((cell) => cell.textContent)];
})()`;
export const BEYOND = 'document.documentElement.scrollWidth - innerWidth';

/** Sums up the layout shifts in this document. */
const OBSERVE_SHIFT = `
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) layoutShift += value;
  }).observe({ type: 'layout-shift', buffered: true });`;
const LAYOUT_SHIFT = `${NEXT_FRAMES}.then(() => layoutShift)`;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/**
 * The violations that axe finds, as text. The content security policy of the page forbids our
 * scripts, so axe is injected through the debugger.
 */
async function violationsOf({ page }: Visit, runOnly: object): Promise<string[]> {
  if ((await page.evaluate("'axe' in globalThis")) !== true) await page.evaluate(AXE);
  const found = await page.evaluate(
    async (options): Promise<readonly Violation[]> =>
      (await Reflect.get(globalThis, 'axe').run(options)).violations,
    { runOnly, resultTypes: ['violations'], preload: false },
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
  );
}

/** Checks all rules in one theme, and the color rules in the other one, in the same document. */
export async function violationsInThemes(
  visit: Visit,
  name: string,
  themes: readonly (typeof THEMES)[number][] = THEMES,
): Promise<string[]> {
  const found: string[] = [];
  for (const [theme, runOnly] of themes) {
    await visit.page.emulateMedia({ colorScheme: theme });
    found.push(...(await violationsOf(visit, runOnly)).map((violation) => `${name}, ${theme}: ${violation}`));
    await takePicture(visit.page, `${name}-${theme}`);
  }
  await visit.page.emulateMedia({ colorScheme: 'light' });
  return found;
}

/** A full page takes a second to draw, so only long runs do it. */
async function takePicture(page: Page, name: string): Promise<void> {
  if (!IS_LONG) return;
  const size = page.viewportSize()?.width === PHONE ? 'phone' : 'wide';
  await page.screenshot({ path: join(SCREENSHOTS, `${name}-${size}.png`), fullPage: true });
}

/** Fails when a page is wider than a phone. Leaves the page at this width. */
export async function assertFitsPhone({ page }: Visit, name: string): Promise<void> {
  await page.setViewportSize({ width: PHONE, height: 900 });
  await page.evaluate(CHART_IS_REDRAWN);
  // A large page takes a moment to be narrow.
  await until(async () => (await page.evaluate(BEYOND)) === 0).catch(() => undefined);
  assert.equal(await page.evaluate(BEYOND), 0, `${name} does not scroll sideways on a phone`);
}

export function describePages(): void {
  describe('pages', { concurrency: AT_ONCE }, () => {
    before(() => mkdir(SCREENSHOTS, { recursive: true }));

    for (const { size, width } of LOOKS) {
      it(`have no violations and fit the width, ${size}`, async () => {
        const visit = await stand().visit({ width });
        visit.forgive(/404 \(Not Found\)/);
        const found: string[] = [];
        for (const { name, path, heading } of PAGES) {
          await visit.follow(path);
          assert.equal(await visit.page.getByRole('heading', { level: 1 }).textContent(), heading);
          assert.equal(await visit.page.locator('.skeleton').count(), 0, `${name} has loaded`);
          assert.equal(await visit.page.evaluate(BEYOND), 0, `${name} does not scroll sideways`);
          found.push(...(await violationsInThemes(visit, name)));
        }
        assert.deepEqual(found, []);
        await visit.end();
      });
    }

    it('with the key form and the range picker have no violations, in both themes', async () => {
      const visit = await stand().visit({ width: 900, key: undefined, isAlone: true });
      visit.forgive(/401 \(Unauthorized\)/);
      const { page } = visit;
      await page.getByLabel('API key').fill('cork_wrong');
      await page.keyboard.press('Enter');
      await page.locator('.door-trouble').waitFor();
      assert.deepEqual(await violationsInThemes(visit, 'key'), []);
      await page.getByLabel('API key').fill(stand().key);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: /^Date range/ }).click();
      await visit.settle();
      assert.deepEqual(await violationsInThemes(visit, 'range'), []);
      await visit.end();
    });

    for (const width of SHIFT_WIDTHS) {
      it(`opened by their addresses hardly shift while their data load, ${width} pixels wide`, async () => {
        const visit = await stand().visit({ width });
        visit.forgive(/404 \(Not Found\)/);
        await visit.page.addInitScript(OBSERVE_SHIFT);
        const debug = await visit.page.context().newCDPSession(visit.page);
        await debug.send('Network.enable');
        await debug.send('Network.emulateNetworkConditions', {
          ...{ offline: false, latency: LATENCY_MS, downloadThroughput: -1, uploadThroughput: -1 },
        });
        const shifts: Record<string, unknown> = {};
        for (const { name, path, heading } of PAGES) {
          await visit.go(path);
          assert.equal(await visit.page.getByRole('heading', { level: 1 }).textContent(), heading);
          assert.equal(await visit.page.evaluate(BEYOND), 0, `${name} does not scroll sideways`);
          shifts[name] = await visit.page.evaluate(LAYOUT_SHIFT);
        }
        const tooFar = Object.entries(shifts).filter(([, shift]) => !(Number(shift) < GOOD_SHIFT));
        assert.deepEqual(tooFar, []);
        await visit.end();
      });
    }

    for (const locale of ['en-US', 'pt-BR', 'ja-JP']) {
      it(`show whole times in tables, ${locale}`, async () => {
        const visit = await stand().visit({ width: 1400, locale, path: '/console/events' });
        const { page } = visit;
        const assertWhole = async (about: string) => {
          const [count, ...cut] = (await page.evaluate(TIMES)) as [number, ...string[]];
          assert.ok(count > 0, about);
          assert.deepEqual(cut, [], about);
        };
        await assertWhole('/console/events');
        for (const path of [
          ...['/console/boards', '/console/people'],
          ...[`/console/boards/${BOARD}/pins`, `/console/boards/${BOARD}/people`],
          `/console/people/${PERSON}/ledger`,
        ]) {
          await visit.follow(path);
          await assertWhole(path);
        }
        for (const [at, interval] of ['hour', 'day', 'week', 'month'].entries()) {
          await visit.follow(`/?from=2018-09-01&to=2018-09-30&zone=UTC&interval=${interval}`);
          // The table stays open.
          if (at === 0) await page.getByRole('button', { name: 'Activity as a Table' }).click();
          await visit.settle();
          await assertWhole(interval);
        }
        await visit.end();
      });
    }

    it('fit a phone', async () => {
      const visit = await stand().visit();
      visit.forgive(/404 \(Not Found\)/);
      await assertFitsPhone(visit, 'overview');
      for (const { name, path } of PAGES.slice(1)) {
        await visit.follow(path);
        await assertFitsPhone(visit, name);
      }
      await visit.end();
    });

    it('rendered by the server have no violations and fit a small phone', async () => {
      const visit = await stand().visit({ width: 320 });
      const found: string[] = [];
      for (const path of PLAIN_PAGES) {
        await visit.page.goto(stand().url + path);
        found.push(...(await violationsOf(visit, ALL_RULES)).map((violation) => `${path}: ${violation}`));
        assert.equal(await visit.page.locator('main').count(), 1, path);
        assert.equal(await visit.page.evaluate(BEYOND), 0, `${path} does not scroll sideways`);
      }
      assert.deepEqual(found, []);
      await visit.end();
    });

    it('keep a chart whose frame has no width for a moment, as in printing', async () => {
      const visit = await stand().visit({ path: `/console/boards/${BOARD}/interactions` });
      await visit.page.evaluate("document.querySelector('.network').style.width = '0'");
      // The chart notices the width in the next frame; timers of a page fire in the order of their
      // times.
      await visit.page.evaluate(CHART_IS_REDRAWN);
      assert.equal(await visit.page.evaluate("document.querySelector('.network').clientWidth"), 0);
      assert.equal(await visit.page.locator('.network svg').count(), 1);
      await visit.end();
    });

    it('are painted before any of their data arrive', async () => {
      const visit = await stand().visit({ path: '/console/elsewhere' });
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      await visit.page.route('**/v1/**', async (route) => {
        await released;
        await route.continue();
      });
      await visit.page.goto(stand().url);
      await visit.page.waitForFunction("performance.getEntriesByName('first-contentful-paint').length === 1");
      release();
      await visit.settle();
      await visit.end();
    });
  });
}
