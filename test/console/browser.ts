/**
 * Headless Chromium of the system: its location, and options that keep it from contacting any host.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Visits mostly wait, so several at once take little longer than one. */
export const AT_ONCE = 3;

/** Undefined if there is none; `NO_BROWSER` has the reason. */
export const BROWSER = findBrowser();
export const NO_BROWSER =
  BROWSER === undefined && `none of ${NAMES.join(', ')} is on the PATH, and CORKBOARD_CHROMIUM names none`;

function findBrowser(): string | undefined {
  const { CORKBOARD_CHROMIUM: named, PATH = '' } = process.env;
  const places = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...(named === undefined ? [] : [named]), ...places].find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function launchOptions() {
  return {
    executablePath: BROWSER ?? '',
    headless: true,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  };
}

export async function startBrowser(): Promise<Browser> {
  return await chromium.launch(launchOptions());
}

/** Starts a browser that keeps its profile, including its cache, in a folder. */
export async function startProfile(folder: string): Promise<BrowserContext> {
  return await chromium.launchPersistentContext(folder, launchOptions());
}
