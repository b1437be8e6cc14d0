/**
 * The built console on the demo data, and visits to it in a browser that notes whatever should not
 * happen.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page, Request, Response } from 'playwright-core';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';
import { until } from '../server/stand.ts';
import { startBrowser } from './browser.ts';

const ROOT = join(import.meta.dirname, '../..');
const CONSOLE = join(ROOT, 'dist/console');
/** With nothing on its way for so long, a page has drawn what came and asks for nothing more. */
const QUIET_MS = 150;
const SETTLE_MS = 60_000;
/** Resolves when what has changed so far is on the screen. */
export const NEXT_FRAMES =
  'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';
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
  /** Where it begins; absent: the overview. */
  readonly path?: string;
  /** Absent: that of the stand; `undefined`: none. */
  readonly key?: string | undefined;
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly locale?: string;
  /** With storage and cache of its own; absent: those that all visits share. */
  readonly isAlone?: boolean;
  /** Keeps the text of every data response in `texts`. */
  readonly readsData?: boolean;
}

export interface Visit {
  readonly page: Page;
  /** Every URL that was requested, and the data that came if the visit reads them. */
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
  const contexts = openContexts(browser);
  return {
    deployment,
    url: deployment.url,
    key,
    visit: (wishes = {}) => beginVisit(contexts, deployment.url, { key, ...wishes }),
    async close() {
      await browser.close();
      await deployment.close();
    },
  };
}

type Contexts = (wishes: VisitWishes) => Promise<BrowserContext>;

/** A context for each locale, so that scripts are compiled once; another one for each visit alone. */
function openContexts(browser: Browser): Contexts {
  const shared = new Map<string, Promise<BrowserContext>>();
  return ({ locale = 'en-GB', isAlone = false }) => {
    const context = (isAlone ? undefined : shared.get(locale)) ?? openContext(browser, locale);
    if (!isAlone) shared.set(locale, context);
    return context;
  };
}

async function openContext(browser: Browser, locale: string): Promise<BrowserContext> {
  const context = await browser.newContext({ locale, timezoneId: 'Europe/Vienna', acceptDownloads: true });
  await context.addInitScript(() => {
    // What is saved by way of a dialog cannot be seen from here.
    Reflect.deleteProperty(globalThis, 'showSaveFilePicker');
    Reflect.deleteProperty(Object.getPrototypeOf(globalThis), 'showSaveFilePicker');
  });
  return context;
}

async function openPage(contexts: Contexts, wishes: VisitWishes): Promise<Page> {
  const { key, theme = 'light', width = 1280, height = 900 } = wishes;
  const page = await (await contexts(wishes)).newPage();
  // Long enough for a busy machine; only a failure takes so long.
  page.setDefaultTimeout(SETTLE_MS);
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  // As if it had been typed into the form; the tests of the form itself do without.
  if (key !== undefined)
    await page.addInitScript((text) => sessionStorage.setItem('corkboard.key', text), key);
  return page;
}

async function beginVisit(contexts: Contexts, url: string, wishes: VisitWishes): Promise<Visit> {
  const { path: first = '/', isAlone = false, readsData = false } = wishes;
  const page = await openPage(contexts, wishes);
  const [urls, texts, troubles, forgiven]: [string[], string[], string[], RegExp[]] = [[], [], [], []];
  const reading: Promise<unknown>[] = [];
  page.on('request', (request) => urls.push(request.url()));
  const readData = (response: Response) => {
    // Of data alone; what is the same for everybody tells nothing.
    if (!/json|csv/.test(response.headers()['content-type'] ?? '')) return;
    const read = async () => texts.push(await response.text());
    reading.push(read().catch(() => undefined));
  };
  if (readsData) page.on('response', readData);
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
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
    // From here on it has been drawn, and has sent its requests.
    await page.evaluate(NEXT_FRAMES);
    lastMs = performance.now();
    await settle();
  };
  await go(first);
  return {
    ...{ page, urls, texts, go, follow, settle },
    forgive: (trouble) => forgiven.push(trouble),
    async end() {
      await Promise.all(reading);
      await (isAlone ? page.context() : page).close();
      const left = troubles.filter((trouble) => !forgiven.some((pattern) => pattern.test(trouble)));
      assert.deepEqual(left, []);
      const away = urls.filter((one) => !one.startsWith(`${url}/`) && !/^(data|blob):/.test(one));
      assert.deepEqual(away, [], 'nothing is asked of another host');
      assert.ok(!urls.some((one) => one.includes('cork_')), 'the key is in no URL');
    },
  };
}
