/** One set of data, imported and served by the product: the starting point of every scenario. */
import { globSync, statSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Community } from './community.ts';
import { type Corkboard, importFiles, makeKey, migrate, type Program, startCorkboard } from './corkboard.ts';
import type { LoadClient } from './load.ts';
import { readProcessTree } from './memory.ts';
import type { Report } from './report.ts';
import { fetchAnswer, readEntityTag, type Target } from './site.ts';

/** Data with more events is measured in fewer rounds and checked with fewer decoders. */
const LARGE_EVENTS = 3_000_000;
const LOOK_EVERY_MS = 5;
const TIMEOUT_MS = 300_000;

export function isLarge({ community }: Pick<Ground, 'community'>): boolean {
  return community.events > LARGE_EVENTS;
}

export interface Plan {
  /** A short run with little data, only to show that everything works. */
  readonly quick: boolean;
  readonly rounds: number;
  /** Length of a round of small requests. */
  readonly seconds: number;
  /** Total size of the responses to different requests: larger than any cache. */
  readonly differentBytes: number;
  /** Approximate total size of the response caches of all processes. */
  readonly cachedBytes: number;
  readonly chosen: (scenario: string) => boolean;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly client: LoadClient;
}

/** Data in the store, not yet served. */
export interface Ground {
  /** The name in the tables. */
  readonly title: string;
  readonly community: Community;
  /** A folder for the files of the scenarios. */
  readonly folder: string;
  /** The data folder, or the URL of a database. */
  readonly dataDir: string;
  readonly key: string;
  /** The path of the first request, which shows that the server responds: the events of a board. */
  readonly firstPath: string;
  /** The program that serves the data; absent: this checkout. */
  readonly program?: Program;
}

export interface Bed extends Ground {
  readonly server: Corkboard;
  readonly product: Target;
}

export type AboutGround = Pick<Ground, 'title' | 'community' | 'folder' | 'firstPath'>;

/** Imports a bundle into a new data folder, or into an existing database. */
export async function prepareGround(
  about: AboutGround,
  bundle: readonly string[],
  signal: AbortSignal,
  place: { readonly database?: string; readonly dataDir?: string } = {},
): Promise<{ ground: Ground; elapsedMs: number; peakBytes: number | undefined }> {
  const { database, dataDir = database ?? join(about.folder, 'data') } = place;
  await (database === undefined ? mkdir(dataDir, { recursive: true }) : migrate(database, signal));
  const { elapsedMs, peakBytes } = await importFiles(bundle, dataDir, signal);
  return { ground: await knownGround(about, dataDir, signal), elapsedMs, peakBytes };
}

/** Data that has been imported, with a new key. */
export async function knownGround(about: AboutGround, dataDir: string, signal: AbortSignal): Promise<Ground> {
  return { ...about, dataDir, key: await makeKey(dataDir, signal) };
}

/** Starts the server over the data and waits until all of its processes have the data. */
export async function openBed(
  ground: Ground,
  signal: AbortSignal,
  ...options: readonly string[]
): Promise<Bed & AsyncDisposable> {
  const { dataDir, program } = ground;
  const server = await startCorkboard(dataDir, signal, { options, ...(program && { program }) });
  const product: Target = { name: 'corkboard', port: server.port, headers: { apikey: ground.key } };
  const bed = { ...ground, server, product, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  try {
    // Connections go to the processes in turn. With more requests than processes, each gets one.
    for (let i = 0; i < 2 * readProcessTree(server.pid).length; i++) await askOnce(bed, signal);
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return bed;
}

/** Sends one small request on a new connection. */
export async function askOnce(bed: Pick<Bed, 'product' | 'firstPath'>, signal: AbortSignal): Promise<void> {
  const product = { ...bed.product, headers: { ...bed.product.headers, connection: 'close' } };
  await fetchAnswer(product, bed.firstPath, signal);
}

/** The size of the file of the latest version that has one; undefined if none has. */
export function fileBytes(
  { dataDir }: Pick<Ground, 'dataDir'>,
  extension: 'duckdb' | 'image' | 'image.fragments' | 'spare',
): number | undefined {
  const names = globSync(`organizations/*/generations/*.${extension}`, { cwd: dataDir });
  const last = names.toSorted((one, other) => publicationOf(one) - publicationOf(other)).at(-1);
  return last === undefined ? undefined : statSync(join(dataDir, last)).size;
}

function publicationOf(path: string): number {
  return Number.parseInt(basename(path), 10);
}

/**
 * The milliseconds until the entity tag of all events is no longer `before`. Throws after five
 * minutes.
 */
export async function untilTaken(product: Target, before: string, signal: AbortSignal): Promise<number> {
  const startMs = performance.now();
  while ((await readEntityTag(product, '/a/v1/events', signal)) === before) {
    if (performance.now() - startMs > TIMEOUT_MS) throw new Error('The version was not taken up.');
    await pause(LOOK_EVERY_MS);
  }
  return performance.now() - startMs;
}

/** Copies the data to a different folder, as if it had never been served. */
export async function copyGround(ground: Ground, name: string): Promise<Ground> {
  const dataDir = join(ground.folder, name);
  await cp(ground.dataDir, dataDir, { recursive: true });
  return { ...ground, dataDir };
}
