/** Tasks of users in the console, from entering the key to filtered events and themes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../server/stand.ts';
import { AT_ONCE } from './browser.ts';
import { ask, number, stand } from './shared-stand.ts';
import { BOARD, PERSON } from './visit.ts';

const MARCH = 'from=2018-03-01&to=2018-03-31&zone=Europe/Vienna';
const MARCH_ASKED = 'start=2018-02-28T23:00:00.000Z&end=2018-03-31T22:00:00.000Z';

async function firstName(page: Page): Promise<string | null> {
  return await page.locator('tbody .name').first().textContent();
}

export function describeFlows(): void {
  describe('the console', { concurrency: AT_ONCE }, () => {
    it('refuses a wrong key with the reason, accepts a valid one, keeps it for the tab, and forgets it', async () => {
      const visit = await stand().visit({ key: undefined, isAlone: true });
      visit.forgive(/401 \(Unauthorized\)/);
      const { page } = visit;
      await page.getByRole('button', { name: 'Sign in' }).click();
      assert.equal(await page.locator('.door-trouble').textContent(), 'Enter an API key.');
      await page.getByLabel('API key').fill('cork_wrong');
      await page.keyboard.press('Enter');
      await page.getByText(/^This is not an API key/).waitFor();
      await page.getByLabel('API key').fill(stand().key);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Stack Exchange Demo' }).waitFor();
      assert.equal(await page.evaluate('Object.values(localStorage).join()'), '');
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Stack Exchange Demo' }).waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key').waitFor();
      assert.equal(await page.evaluate('Object.values(sessionStorage).join()'), '');
      await visit.end();
    });

    it('takes the key of an open tab in a new one, and signs out in both', async () => {
      const visit = await stand().visit({ isAlone: true });
      const tab = await visit.page.context().newPage();
      await tab.goto(`${stand().url}/console/boards`);
      await tab.getByRole('heading', { level: 1, name: 'Boards' }).waitFor();
      assert.equal(await tab.evaluate('Object.values(localStorage).join()'), '');
      await visit.page.getByRole('button', { name: 'Sign out' }).click();
      await tab.getByLabel('API key').waitFor();
      await visit.end();
    });

    it('shows the key form again when the key is revoked', async () => {
      const key = await stand().deployment.makeKey('demo');
      const visit = await stand().visit({ key });
      visit.forgive(/401 \(Unauthorized\)/);
      for (const { id, label } of await stand().deployment.keyring.list('demo')) {
        if (label === 'test' && key.includes(id)) await stand().deployment.keyring.revoke(id);
      }
      await visit.page.getByRole('link', { name: 'Boards', exact: true }).click();
      await visit.page.getByLabel('API key').waitFor();
      assert.match((await visit.page.locator('.door-trouble').textContent()) ?? '', /revoked|key/);
      await visit.end();
    });

    it('shows the numbers of the range and time zone in the address', async () => {
      const visit = await stand().visit({ path: `/?${MARCH}` });
      const { events, people } = JSON.parse(await ask(`/insights/v1/overview?${MARCH_ASKED}`));
      const tiles = await visit.page.locator('.tile-value').allTextContents();
      assert.deepEqual(tiles.slice(0, 2), [number(events), number(people)]);
      assert.ok(visit.urls.some((url) => url.includes('start=2018-02-28T23%3A00%3A00.000Z')));
      await visit.end();
    });

    it('has the days and times of the rules of the server, not those of the browser', async () => {
      const visit = await stand().visit({ isAlone: true });
      // Rules without daylight saving time: the end of March is an hour later than in the browser.
      await visit.page.route('**/insights/v1/zone?*', (route) =>
        route.fulfill({
          json: {
            zone: 'Europe/Vienna',
            zoneData: '2030a',
            offsets: [{ start: null, seconds: 3600 }],
          },
        }),
      );
      await visit.go(`/console/events?${MARCH}`);
      const end = '2018-03-31T23:00:00.000Z';
      assert.ok(visit.urls.some((url) => url.includes(`end=${encodeURIComponent(end)}`)));
      const [event] = JSON.parse(await ask(`/insights/v1/events?start=2018-02-28T23:00:00Z&limit=1`));
      const shown = await visit.page.locator('tbody td').first().textContent();
      const local = new Date(Date.parse(event.timestamp) + 3_600_000);
      const style = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;
      assert.equal(shown, local.toLocaleString('en-GB', style));
      await visit.end();
    });

    it('writes range, zone and interval to the address, and keeps the range from page to page', async () => {
      const visit = await stand().visit();
      const { page } = visit;
      await page.getByRole('button', { name: /^Date range/ }).click();
      await page.getByRole('button', { name: '2021' }).click();
      await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
      await page.keyboard.press('Escape');
      await page.getByLabel('Time zone').waitFor({ state: 'detached' });
      assert.match(await page.locator(':focus').innerText(), /^Date range/);
      await page.getByLabel('Interval').selectOption('week');
      await visit.settle();
      const query = new URL(page.url()).searchParams;
      assert.deepEqual(
        ['from', 'to', 'zone', 'interval'].map((name) => query.get(name)),
        ['2021-01-01', '2021-12-31', 'Asia/Tokyo', 'week'],
      );
      await page.getByRole('link', { name: 'Users', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
      assert.match(page.url(), /from=2021-01-01&to=2021-12-31&zone=Asia/);
      await page.goBack();
      await page.getByRole('heading', { level: 1, name: 'Stack Exchange Demo' }).waitFor();
      await visit.end();
    });

    it('shows a chart as a table, and makes its periods reachable by keyboard', async () => {
      const visit = await stand().visit({
        path: '/?from=2018-01-01&to=2018-12-31&zone=UTC&interval=month&by=people',
      });
      const { page } = visit;
      const { people } = JSON.parse(
        await ask('/insights/v1/activity?start=2018-01-01T00:00:00Z&end=2019-01-01T00:00:00Z&interval=month'),
      );
      const slider = page.getByRole('slider', { name: 'Activity: selected period' });
      await slider.focus();
      await page.keyboard.press('ArrowRight');
      assert.equal(
        await slider.getAttribute('aria-valuetext'),
        `February 2018: Active users ${number(people[1])}`,
      );
      assert.match((await page.locator('.tip').textContent()) ?? '', /February 2018/);
      await page.getByRole('button', { name: 'Activity as a Table' }).click();
      const cells = await page
        .getByRole('group', { name: 'Activity' })
        .locator('td:last-child')
        .allTextContents();
      assert.deepEqual(cells, people.map(number));
      await visit.end();
    });

    it('finds and sorts boards and people, and links them', async () => {
      const visit = await stand().visit({ path: '/console/boards' });
      const { page } = visit;
      const [top] = JSON.parse(await ask('/insights/v1/boards?top=1'));
      assert.equal(await firstName(page), top.board.title);
      await page.getByRole('button', { name: 'Board' }).click();
      const titles = JSON.parse(await ask('/b/v1/boards')).map(({ title }: { title: string }) => title);
      assert.equal(await firstName(page), titles.sort(new Intl.Collator('en', { numeric: true }).compare)[0]);
      await page.getByRole('searchbox', { name: 'Search boards' }).fill('conlang disc');
      await page.getByText(`1 of ${titles.length} boards`, { exact: true }).waitFor();
      await page.getByRole('link', { name: 'conlang meta: discussion' }).click();
      await page.getByRole('link', { name: 'Points' }).click();
      const points = JSON.parse(await ask(`/a/v1/board/${BOARD}/points`));
      const totals = Object.values<{ total_points: number }>(points).map((record) => record.total_points);
      const table = page.getByRole('group', { name: 'Points' });
      await table.waitFor();
      assert.equal(await table.locator('td:nth-child(2)').first().textContent(), number(Math.max(...totals)));
      await table.locator('td:nth-child(2) a').first().click();
      await page.getByRole('heading', { name: 'Ledger' }).waitFor();
      assert.equal(new URL(page.url()).searchParams.get('board'), BOARD);
      await visit.end();
    });

    it('shows the ledger in the words of the API', async () => {
      const visit = await stand().visit({ path: `/console/people/${PERSON}/ledger?board=${BOARD}` });
      const { lines, summary } = JSON.parse(await ask(`/insights/v1/boards/${BOARD}/users/${PERSON}/ledger`));
      const whats = await visit.page
        .getByRole('group', { name: 'Ledger' })
        .locator('td:nth-child(2)')
        .allTextContents();
      assert.deepEqual(
        whats,
        lines.map(({ what }: { what: string }) => what),
      );
      assert.deepEqual(await visit.page.locator('.sentences li').allTextContents(), summary);
      await visit.end();
    });

    it('narrows events by board, person and action, counts them, and loads more on scrolling', async () => {
      const visit = await stand().visit({ path: '/console/events' });
      const { page } = visit;
      await page.getByRole('group', { name: 'Events' }).evaluate((frame) => frame.scrollTo(0, 1e6));
      const rowInSight = () =>
        page.evaluate("Number(document.querySelectorAll('[aria-rowindex]')[9].ariaRowIndex)");
      await until(async () => Number(await rowInSight()) > 150);
      await visit.settle();
      assert.ok(visit.urls.some((url) => url.includes('cursor=')));
      const board = page.getByRole('combobox', { name: 'Board' });
      await board.fill('conlang');
      await page.getByRole('option', { name: /conlang meta: discussion/ }).click();
      await page.getByRole('button', { name: 'Clear board' }).waitFor();
      // Neither leaving the field nor pressing Escape twice changes or clears the board.
      await board.click();
      await page.getByRole('option').nth(3).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Tab');
      await board.press('Escape');
      await board.press('Escape');
      assert.match(await board.inputValue(), /^conlang meta: discussion/);
      await page.getByLabel('Action').selectOption('commented');
      const { events } = JSON.parse(await ask(`/insights/v1/overview?board=${BOARD}&action=commented`));
      await page.getByText(`${number(events)} events`, { exact: true }).waitFor();
      await page.getByRole('combobox', { name: 'Actor' }).fill('gregory nis');
      await page.getByRole('option', { name: /Gregory Nisbet/ }).waitFor();
      await page.keyboard.press('Enter');
      const asked = `board=${BOARD}&user=${PERSON}&action=commented`;
      const rows = JSON.parse(await ask(`/insights/v1/events?${asked}`));
      await page
        .getByText(rows.length === 1 ? '1 event' : `${rows.length} events`, { exact: true })
        .waitFor();
      await visit.settle();
      assert.equal(await page.locator('tbody tr').count(), rows.length);
      await visit.end();
    });

    it('shows an error with its request id, and retries', async () => {
      const visit = await stand().visit();
      const { page } = visit;
      visit.forgive(/503|500/);
      await page.route('**/insights/v1/heat-map*', (route) =>
        route.fulfill({
          status: 503,
          headers: { 'x-request-id': 'abc-123', 'retry-after': '5' },
          json: { code: 'unavailable', title: 'Unavailable', detail: 'The database cannot be reached.' },
        }),
      );
      await visit.go('/');
      await page.getByText('The database cannot be reached.').waitFor();
      await page.getByText('abc-123').waitFor();
      await page.unroute('**/insights/v1/heat-map*');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('table', { name: 'Events by day of the week and hour' }).waitFor();
      await visit.end();
    });

    it('applies the chosen theme, and keeps it', async () => {
      const visit = await stand().visit({ theme: 'light', isAlone: true });
      const { page } = visit;
      const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
      assert.equal(await paper(), 'rgb(246, 244, 239)');
      await page.getByRole('button', { name: 'Theme: System' }).click();
      await page.getByRole('button', { name: 'Theme: Light' }).click();
      assert.equal(await paper(), 'rgb(20, 19, 17)');
      await page.reload();
      assert.equal(await paper(), 'rgb(20, 19, 17)');
      await visit.end();
    });
  });
}
