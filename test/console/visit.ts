/**
 * The built console with the demo data, and visits in a browser that records unexpected errors and
 * requests.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page, Request, Route } from 'playwright-core';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';
import { until } from '../server/stand.ts';
import { startBrowser } from './browser.ts';

const ROOT = join(import.meta.dirname, '../..');
const CONSOLE = join(ROOT, 'dist/console');
const DOCUMENTS = join(ROOT, 'dist/docs');
/** After this time without requests, a page has drawn its data and sends no further requests. */
const QUIET_MS = 150;
const SETTLE_MS = 60_000;
/** The URLs of data routes. Files that are the same for all users reveal nothing. */
const DATA = /^https?:\/\/[^/]+\/(?:a|b|insights)\/v1\//;
/** Resolves when all changes so far are on the screen. */
export const NEXT_FRAMES =
  'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';
const IS_DRAWN = `
  document.querySelector('.skeleton, .booting, .is-stale') === null &&
  [...document.querySelectorAll('.plot, .network')].every((frame) => frame.querySelector('svg') !== null)`;
const BUNDLE = join(ROOT, 'demo');
export const ORGANIZATION = 'demo';
/** In the demo data: a board with points, and a user on it. */
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
  /** The first path; absent: the overview. */
  readonly path?: string;
  /** Absent: the key of the console; `undefined`: none. */
  readonly key?: string | undefined;
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly locale?: string;
  /** With its own storage and cache; absent: shared by all visits. */
  readonly isAlone?: boolean;
  /** Keeps the body of every data response in `texts`. */
  readonly readsData?: boolean;
}

export interface Visit {
  readonly page: Page;
  /** Every requested URL; `texts` has the data responses if the visit reads them. */
  readonly urls: readonly string[];
  readonly texts: readonly string[];
  /** Opens a path and waits until no request is pending. */
  go(path: string): Promise<void>;
  /** Opens a path within the console, like its own links. */
  follow(path: string): Promise<void>;
  /** Waits until no request is pending and the page is drawn. */
  settle(): Promise<void>;
  /** Ignores expected errors, such as that of a refused key. */
  forgive(trouble: RegExp): void;
  /** Closes the page; fails after unexpected errors or requests. */
  end(): Promise<void>;
}

export async function openConsole(): Promise<ConsoleStand> {
  for (const folder of [CONSOLE, DOCUMENTS]) {
    await readFile(join(folder, 'index.html')).catch(() => {
      throw new Error(`There is no build in ${folder}. Run: npm run build`);
    });
  }
  const deployment = await openDeployment(undefined, {
    consoleFolder: CONSOLE,
    documentsFolder: DOCUMENTS,
  });
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

/**
 * One context for each locale, so that scripts are compiled once, and a new one for each visit that
 * is alone.
 */
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
    // The test cannot see files that are saved through a dialog.
    Reflect.deleteProperty(globalThis, 'showSaveFilePicker');
    Reflect.deleteProperty(Object.getPrototypeOf(globalThis), 'showSaveFilePicker');
  });
  return context;
}

async function openPage(contexts: Contexts, wishes: VisitWishes): Promise<Page> {
  const { key, theme = 'light', width = 1280, height = 900 } = wishes;
  const page = await (await contexts(wishes)).newPage();
  // Long enough for a busy machine; only failures take this long.
  page.setDefaultTimeout(SETTLE_MS);
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  // As if it had been typed into the form; tests of the form itself set no key.
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
  // Not from the browser, which may have dropped a body before it can be read.
  const readData = async (route: Route) => {
    const response = await route.fetch();
    texts.push(await response.text());
    // Fails when the page has canceled the request.
    await route.fulfill({ response }).catch(() => undefined);
  };
  if (readsData) {
    await page.route(DATA, (route) => {
      const read = readData(route);
      reading.push(read);
      return read;
    });
  }
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
    // Pending requests of the previous page are canceled, which the browser does not always report.
    underWay.clear();
    await page.goto(url + path);
    await settle();
  };
  const follow = async (path: string) => {
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
    // After these frames the page is drawn and has sent its requests.
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
