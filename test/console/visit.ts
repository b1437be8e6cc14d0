/** The built console on the demo data, and visits to it in a browser that notes whatever should not happen. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';
import { until } from '../server/stand.ts';
import { startBrowser } from './browser.ts';

const ROOT = join(import.meta.dirname, '../..');
const CONSOLE = join(ROOT, 'dist/console');
/** With nothing on its way for so long, a page has drawn what came and asks for nothing more. */
const QUIET_MS = 150;
const SETTLE_MS = 20_000;
const IS_DRAWN = `
  document.querySelector('.skeleton, .booting, .is-stale') === null &&
  [...document.querySelectorAll('.plot, .network')].every((frame) => frame.querySelector('svg') !== null)`;
const BUNDLE = join(ROOT, 'demo');
export const ORGANIZATION = 'demo';
/** Of the demo data: a board with points, and somebody on it. */
export const BOARD = '62';
export const PERSON = '5001265';

export interface ConsoleStand {
  readonly deployment: Deployment;
  readonly url: string;
  readonly key: string;
  visit(wishes?: VisitWishes): Promise<Visit>;
  close(): Promise<void>;
}

export interface VisitWishes {
  /** Absent: that of the stand; `undefined`: none. */
  readonly key?: string | undefined;
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly locale?: string;
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every URL asked for, and the data that came. */
  readonly urls: readonly string[];
  readonly texts: readonly string[];
  /** Goes to a path and waits until nothing is on its way any more. */
  go(path: string): Promise<void>;
  /** The same within the console, as its own links do it. */
  follow(path: string): Promise<void>;
  /** Waits until nothing is on its way any more. */
  settle(): Promise<void>;
  /** Trouble that was meant, like a refused key: no reason to fail. */
  forgive(trouble: RegExp): void;
  /** Fails when something happened that should not have. */
  end(): Promise<void>;
}

export async function openConsole(): Promise<ConsoleStand> {
  await readFile(join(CONSOLE, 'index.html')).catch(() => {
    throw new Error('There is no built console. Run: npm run build');
  });
  const deployment = await openDeployment(undefined, CONSOLE);
  const policy = await readFile(join(BUNDLE, 'policy.json'), 'utf8');
  await deployment.store.createOrganization(ORGANIZATION, { title: 'Stack Exchange Demo', policy });
  await loadFiles(deployment.store, ORGANIZATION, [BUNDLE]);
  const key = await deployment.makeKey(ORGANIZATION);
  const browser = await startBrowser();
  return {
    deployment,
    url: deployment.url,
    key,
    visit: (wishes = {}) => beginVisit(browser, deployment.url, { key, ...wishes }),
    async close() {
      await browser.close();
      await deployment.close();
    },
  };
}

async function beginVisit(browser: Browser, url: string, wishes: VisitWishes): Promise<Visit> {
  const { key, theme = 'light', width = 1280, height = 900, locale = 'en-GB' } = wishes;
  const context = await browser.newContext({
    ...{ viewport: { width, height }, colorScheme: theme, reducedMotion: 'reduce' },
    ...{ locale, timezoneId: 'Europe/Vienna', acceptDownloads: true },
  });
  await context.addInitScript(() => {
    // What is saved by way of a dialog cannot be seen from here.
    Reflect.deleteProperty(globalThis, 'showSaveFilePicker');
    Reflect.deleteProperty(Object.getPrototypeOf(globalThis), 'showSaveFilePicker');
  });
  const page = await context.newPage();
  const [urls, texts, troubles, forgiven]: [string[], string[], string[], RegExp[]] = [[], [], [], []];
  const reading: Promise<unknown>[] = [];
  page.on('request', (request) => urls.push(request.url()));
  page.on('response', (response) => {
    // Of data alone; what is the same for everybody tells nothing.
    if (!/json|csv/.test(response.headers()['content-type'] ?? '')) return;
    const read = async () => texts.push(await response.text());
    reading.push(read().catch(() => undefined));
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) troubles.push(message.text());
  });
  page.on('pageerror', (error) => troubles.push(String(error)));

  const underWay = new Set<Request>();
  let lastMs = performance.now();
  const note = (change: (request: Request) => void) => (request: Request) => {
    change(request);
    lastMs = performance.now();
  };
  page.on(
    'request',
    note((request) => underWay.add(request)),
  );
  page.on(
    'requestfinished',
    note((request) => underWay.delete(request)),
  );
  page.on(
    'requestfailed',
    note((request) => underWay.delete(request)),
  );
  const settle = async () => {
    try {
      await until(async () => {
        if (underWay.size > 0 || performance.now() - lastMs < QUIET_MS) return false;
        return (await page.evaluate(IS_DRAWN)) === true;
      }, SETTLE_MS);
    } catch (cause) {
      const left = [...underWay].map((request) => request.url());
      throw new Error(`${page.url()} does not come to rest: ${left.join(' ') || 'it is not drawn'}`, {
        cause,
      });
    }
  };
  const go = async (path: string) => {
    // What the page before it still waits for is given up, which is not always told.
    underWay.clear();
    await page.goto(url + path);
    await settle();
  };
  const follow = async (path: string) => {
    await page.evaluate((to) => Reflect.get(globalThis, 'history').pushState(null, '', to), path);
    await settle();
  };
  // As if it had been typed into the form; the tests of the form itself do without.
  if (key !== undefined)
    await context.addInitScript((text) => sessionStorage.setItem('corkboard.key', text), key);
  await go('/');
  return {
    ...{ page, context, urls, texts, go, follow, settle },
    forgive: (trouble) => forgiven.push(trouble),
    async end() {
      await Promise.all(reading);
      await context.close();
      const left = troubles.filter((trouble) => !forgiven.some((pattern) => pattern.test(trouble)));
      assert.deepEqual(left, []);
      const away = urls.filter((one) => !one.startsWith(`${url}/`) && !/^(data|blob):/.test(one));
      assert.deepEqual(away, [], 'nothing is asked of another host');
      assert.ok(!urls.some((one) => one.includes('cork_')), 'the key is in no URL');
    },
  };
}
