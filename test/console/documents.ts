/**
 * The documents and the reference of the API in a browser: violations, pictures, search, theme, and
 * requests of the reference.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { IS_LONG } from '../long.ts';
import { until } from '../server/stand.ts';
import { AT_ONCE } from './browser.ts';
import { assertFitsPhone, BEYOND, LOOKS, THEMES, violationsInThemes } from './pages.ts';
import { stand } from './shared-stand.ts';
import type { Visit } from './visit.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = [
  { name: 'docs-home', path: '/docs/' },
  { name: 'docs-operations', path: '/docs/operations' },
  { name: 'docs-tutorial', path: '/docs/tutorials/from-key-to-dataframe' },
  { name: 'docs-dictionary', path: '/docs/data-dictionary' },
  { name: 'docs-search', path: '/docs/search?q=sync%20token' },
] as const;
/** Long enough for a busy machine; only failures take this long. */
const LOADED_MS = 60_000;
const OPERATION = '/docs/api#listEventsA';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

/** Rules that the markup of the component breaks, which we cannot change. */
const BROKEN_BY_COMPONENT =
  /: (aria-input-field-name|aria-required-attr|button-name|target-size|scrollable-region-focusable \.endpoints) /;

/** The first code on the page of the reference, which is that of the operation of the address. */
const shownCode = (operation: string) => `
  [...document.querySelectorAll('[id$="/${operation}"] pre')].map((code) => code.innerText)[0]`;

const visibleTexts = (text: string) => `
  [...document.querySelectorAll('*')].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.includes('${text}')) &&
    element.getBoundingClientRect().width > 0).length`;

/** The policy of the pages forbids `waitForFunction`, which evaluates a text inside of the page. */
async function waitUntil(page: Page, expression: string): Promise<void> {
  await until(async () => (await page.evaluate(expression)) === true, LOADED_MS);
}

/** `isAlone`: for visits that change what the component remembers. */
async function openReference(operation: string, isAlone = true): Promise<Visit> {
  const visit = await stand().visit({ path: `/docs/api#${operation}`, key: undefined, isAlone });
  await waitUntil(visit.page, `${shownCode(operation)} !== undefined`);
  return visit;
}

/** Serves the folder below a path, as a server of files does. */
async function serveFolder(folder: string, base: string) {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    const name = path.slice(base.length) || 'index.html';
    if (!path.startsWith(base)) return void response.writeHead(404).end();
    response.setHeader('content-type', TYPES[extname(name)] ?? 'application/octet-stream');
    createReadStream(join(folder, name))
      .on('error', () => response.writeHead(404).end())
      .pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

export function describeDocuments(): void {
  describe('the documents', { concurrency: AT_ONCE }, () => {
    for (const { size, width } of LOOKS) {
      it(`have no violations and fit the width, ${size}`, async () => {
        const visit = await stand().visit({ width, key: undefined, path: '/docs/' });
        const found: string[] = [];
        for (const { name, path } of PAGES) {
          await visit.page.setViewportSize({ width, height: 900 });
          await visit.go(path);
          assert.equal(await visit.page.evaluate(BEYOND), 0, `${name} does not scroll sideways`);
          found.push(...(await violationsInThemes(visit, name)));
          await assertFitsPhone(visit, name);
        }
        assert.deepEqual(found, []);
        await visit.end();
      });
    }

    it('are searched from every page, and while the reader types', async () => {
      const visit = await stand().visit({ key: undefined, path: '/docs/errors' });
      const { page } = visit;
      await page.getByRole('searchbox', { name: 'Search the documents' }).fill('sync token');
      await page.keyboard.press('Enter');
      await page.locator('#results li').first().waitFor();
      assert.match(await page.locator('#found').innerText(), /^\d+ sections/);
      await page.getByLabel('Words in the documents').fill('glossary');
      await page.getByRole('link', { name: 'Architecture: Glossary' }).click();
      await page.waitForURL('**/docs/architecture.html#glossary');
      await visit.end();
    });

    it('share the theme of the console', async () => {
      const visit = await stand().visit({ key: undefined, path: '/docs/', isAlone: true });
      const { page } = visit;
      const theme = () => page.evaluate("document.documentElement.dataset.theme ?? 'system'");
      await page.getByRole('button', { name: 'Theme: system' }).click();
      await page.getByRole('button', { name: 'Theme: light' }).click();
      assert.equal(await theme(), 'dark');
      for (const path of ['/docs/errors', '/docs/api', '/']) {
        await visit.go(path);
        assert.equal(await theme(), 'dark', path);
      }
      await visit.end();
    });

    it('have their navigation in a menu on a phone', async () => {
      const visit = await stand().visit({ key: undefined, path: '/docs/', width: 360 });
      const link = visit.page.locator('#pages').getByRole('link', { name: 'Data dictionary' });
      assert.equal(await link.isVisible(), false);
      await visit.page.getByRole('button', { name: 'Pages' }).click();
      await link.click();
      await visit.page.waitForURL('**/docs/data-dictionary.html');
      await visit.end();
    });

    it('print without navigation', async () => {
      const visit = await stand().visit({ key: undefined, path: '/docs/operations' });
      await visit.page.emulateMedia({ media: 'print' });
      for (const part of ['.top', '#pages', '.headings']) {
        assert.equal(await visit.page.locator(part).first().isVisible(), false, part);
      }
      await visit.end();
    });
  });

  describe('the reference of the API', { concurrency: AT_ONCE }, () => {
    for (const operation of ['listEventsOfBoardA', 'listUsersB', 'getActivity']) {
      it(`shows code that runs as it is: ${operation}`, async () => {
        const visit = await openReference(operation, false);
        const code = String(await visit.page.evaluate(shownCode(operation)));
        assert.ok(code.startsWith('curl ') && code.includes("--header 'apikey: YOUR_SECRET_TOKEN'"), code);
        const url = /http:\/\/127[^\s']+/.exec(code)?.[0] ?? '';
        const response = await fetch(url, { headers: { apikey: stand().key } });
        // The examples name boards and users that the demo data lacks.
        assert.ok([200, 404].includes(response.status), `${url}: ${await response.text()}`);
        await visit.end();
      });
    }

    it('sends a request with the key that the reader enters, shows it nowhere, and keeps it nowhere', async () => {
      const visit = await openReference('listBoardsA');
      const { page } = visit;
      await page
        .getByRole('button', { name: /Test Request/ })
        .first()
        .click();
      const dialog = page.getByRole('dialog');
      await dialog.locator('input[type="password"], input[placeholder]').first().fill(stand().key);
      await dialog.getByRole('button', { name: /^Send/ }).first().click();
      await dialog.getByText('200 OK').waitFor();
      // The code contains the key for copying, in an element of no size, and shows dots.
      assert.equal(await page.evaluate(visibleTexts(stand().key)), 0);
      const kept = await page.evaluate(`indexedDB.databases().then((databases) =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, databases, document.cookie]))`);
      assert.doesNotMatch(String(kept), /cork_/);
      await visit.go('/docs/api');
      assert.ok(!String(await page.evaluate('document.documentElement.innerHTML')).includes(stand().key));
      await visit.end();
    });

    it('has code for Parquet files and live streams where the API has them', async () => {
      const visit = await openReference('listEventsA');
      const { page } = visit;
      for (const [name, text] of [
        ['Parquet file: curl', '--output data.parquet'],
        ['Parquet: pandas', 'pandas.read_parquet('],
        ['Live stream: curl', 'curl --no-buffer'],
        ['Live stream: requests', 'stream=True'],
      ] as const) {
        await page
          .getByRole('button', { name: /Shell Curl|Parquet|Live stream/ })
          .first()
          .click();
        await page.getByRole('option', { name }).click();
        await page.getByText(text).first().waitFor();
      }
      await visit.end();
    });

    it('finds operations by words', async () => {
      const visit = await openReference('listEventsA', false);
      const { page } = visit;
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('combobox').fill('LMS property');
      await page
        .getByRole('option', { name: /LMS property/ })
        .first()
        .click();
      await page.waitForURL(/#a\/tag\/points\/\w*Lms\w*A$/i);
      await visit.end();
    });

    it('is reached from the console, and by the addresses that the console once had', async () => {
      const visit = await stand().visit();
      await visit.page.getByRole('link', { name: 'API' }).click();
      await visit.page.waitForURL('**/docs/api*');
      await visit.go('/console/api?op=getPointsOfBoardA');
      await visit.page.waitForURL('**/docs/api#a/tag/points/getPointsOfBoardA');
      await visit.end();
    });

    for (const { size, width } of LOOKS) {
      // The component takes seconds to open.
      for (const look of IS_LONG ? THEMES : THEMES.slice(0, 1)) {
        it(`has only the violations of the component and fits the width, ${size}, ${look[0]}`, async () => {
          const visit = await stand().visit({ width, key: undefined, path: OPERATION, theme: look[0] });
          await waitUntil(visit.page, `${shownCode('listEventsA')} !== undefined`);
          await waitUntil(visit.page, `document.body.classList.contains('${look[0]}-mode')`);
          assert.equal(await visit.page.evaluate(BEYOND), 0);
          const found = await violationsInThemes(visit, 'docs-api', [look]);
          assert.deepEqual(
            found.filter((violation) => !BROKEN_BY_COMPONENT.test(violation)),
            [],
          );
          await assertFitsPhone(visit, 'docs-api');
          await visit.end();
        });
      }
    }
  });

  it('a static site works below any path', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corkboard-static-'));
    execFileSync(process.execPath, [join(ROOT, 'site/build/build.ts'), join(folder, 'site')]);
    const base = '/some/where/';
    const server = await serveFolder(join(folder, 'site'), base);
    const visit = await stand().visit({ key: undefined, path: '/docs/', isAlone: true });
    const { page } = visit;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${server.url}${base}tutorials/from-key-to-dataframe.html`);
    await page.getByRole('searchbox').fill('weekly maximum');
    await page.keyboard.press('Enter');
    await page.locator('#results li').first().waitFor();
    await page.goto(`${server.url}${base}api.html#getPointsOfBoardA`);
    await waitUntil(page, `${shownCode('getPointsOfBoardA')} !== undefined`);
    assert.match(
      String(await page.evaluate(shownCode('getPointsOfBoardA'))),
      /http:\/\/127\.0\.0\.1:8080\/a\/v1\/board/,
    );
    assert.equal(await page.getByRole('button', { name: /Test Request/ }).count(), 0);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(server.url + base) && !/^(data|blob):/.test(url)),
      [],
    );
    await page.close();
    server.close();
    await rm(folder, { recursive: true });
  });
}
