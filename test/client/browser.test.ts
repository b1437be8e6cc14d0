import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { NO_BROWSER, startBrowser } from '../console/browser.ts';
import { openStand, type Stand } from '../server/stand.ts';
import { installClient } from './installed.ts';
import { type OddServer, openOddServer } from './odd-server.ts';

/** Runs in the page: counts the results of some requests, or returns the error. */
const ASKED = `async ([baseUrl, key]) => {
  const { openClient } = await import('/client.js');
  const client = openClient({ baseUrl, key, variant: 'a', retry: { retries: 0 } });
  try {
    let events = 0;
    for await (const event of client.events({ pageSize: 2 })) events += 1;
    for await (const event of client.events()) events += 1;
    return { events, points: Object.values(await client.pointsOfBoard(7)).length };
  } catch (error) {
    return { name: error.name, code: error.code };
  }
}`;

describe('the client in a browser', { skip: NO_BROWSER }, () => {
  let folder: string;
  let pages: OddServer;
  let stand: Stand;
  let browser: Browser;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-browser-'));
    const built = await installClient(folder);
    pages = await openOddServer(async (response, { url = '' }) => {
      const isPage = url === '/';
      response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript');
      // Browsers also request an icon.
      const file = readFile(join(built, basename(url))).catch(() => '');
      response.end(isPage ? '<!doctype html>' : await file);
    });
    stand = await openStand({ corsOrigins: [pages.url] });
    browser = await startBrowser();
  });
  after(async () => {
    await browser.close();
    await stand.close();
    await pages.close();
    await rm(folder, { recursive: true });
  });

  async function asked(baseUrl: string, key: string): Promise<unknown> {
    const page = await browser.newPage();
    await page.goto(pages.url);
    const result: unknown = await page.evaluate(`(${ASKED})(${JSON.stringify([baseUrl, key])})`);
    await page.close();
    return result;
  }

  it('reads pages, streams and maps from another origin', async () => {
    const events: unknown[] = JSON.parse(await (await stand.get('/a/v1/events')).text());
    const points: object = JSON.parse(await (await stand.get('/a/v1/board/7/points')).text());
    assert.ok(events.length > 2);
    const expected = { events: events.length * 2, points: Object.keys(points).length };
    assert.deepEqual(await asked(`${stand.url}/a`, stand.key), expected);
  });

  it('reports errors as in Node.js', async () => {
    assert.deepEqual(await asked(`${stand.url}/a`, 'cork_no_key'), {
      name: 'ProblemError',
      code: 'key-unknown',
    });
    assert.deepEqual(await asked('http://127.0.0.1:1/a', 'k'), { name: 'AnswerError', code: 'unreachable' });
    const cut = await openOddServer((response, { method }) => {
      response.writeHead(200, {
        ...{ 'access-control-allow-origin': pages.url, 'access-control-allow-headers': 'apikey, accept' },
        ...(method === 'GET' && { 'content-type': 'application/x-ndjson', 'content-length': '1000' }),
      });
      if (method !== 'GET') return response.end();
      return response.write('{"id":1}\n', () => response.socket?.end());
    });
    assert.deepEqual(await asked(`${cut.url}/a`, 'k'), { name: 'AnswerError', code: 'cut-short' });
    await cut.close();
  });

  it('does not follow redirects', async () => {
    const away = await openOddServer((response, { method }) => {
      response.writeHead(method === 'GET' ? 302 : 204, {
        ...{ 'access-control-allow-origin': pages.url, 'access-control-allow-headers': 'apikey, accept' },
        ...(method === 'GET' && { location: `${stand.url}/a/v1/events` }),
      });
      response.end();
    });
    assert.deepEqual(await asked(`${away.url}/a`, stand.key), { name: 'AnswerError', code: 'redirected' });
    await away.close();
  });
});
