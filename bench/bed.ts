/** One set of data, imported and served by the product: what every scenario starts from. */
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Community } from './community.ts';
import { type Corkboard, importFiles, makeKey, migrate, type Program, startCorkboard } from './corkboard.ts';
import type { LoadClient } from './load.ts';
import { readProcessTree } from './memory.ts';
import type { Report } from './report.ts';
import { fetchAnswer, type Target } from './site.ts';

/** Larger data is measured in fewer rounds, and decoded by fewer decoders. */
const LARGE_EVENTS = 3_000_000;

export function isLarge({ community }: Pick<Ground, 'community'>): boolean {
  return community.events > LARGE_EVENTS;
}

export interface Plan {
  /** Little of everything: shows that it works. */
  readonly quick: boolean;
  readonly rounds: number;
  /** Length of a round of small requests. */
  readonly seconds: number;
  /** Of the answers to different questions: as many as no cache holds. */
  readonly differentBytes: number;
  /** What all processes together keep of small answers, about. */
  readonly cachedBytes: number;
  readonly chosen: (scenario: string) => boolean;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly client: LoadClient;
}

/** Data in the store, not yet served. */
export interface Ground {
  /** As in the tables. */
  readonly title: string;
  readonly community: Community;
  /** A folder for whatever a scenario writes. */
  readonly folder: string;
  /** Or the address of a database. */
  readonly dataDir: string;
  readonly key: string;
  /** Paths that show that the server answers: a board's events first. */
  readonly firstPath: string;
  /** What serves them; absent: this checkout. */
  readonly program?: Program;
}

export interface Bed extends Ground {
  readonly server: Corkboard;
  readonly product: Target;
}

/** Imports a bundle into a data folder of its own, or into a database that is there already. */
export async function prepareGround(
  about: Pick<Ground, 'title' | 'community' | 'folder' | 'firstPath'>,
  bundle: readonly string[],
  signal: AbortSignal,
  database?: string,
): Promise<{ ground: Ground; elapsedMs: number; peakBytes: number | undefined }> {
  const dataDir = database ?? join(about.folder, 'data');
  await (database === undefined ? mkdir(dataDir, { recursive: true }) : migrate(database, signal));
  const { elapsedMs, peakBytes } = await importFiles(bundle, dataDir, signal);
  const key = await makeKey(dataDir, signal);
  return { ground: { ...about, dataDir, key }, elapsedMs, peakBytes };
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
    // Connections go to the processes in turn: with more questions than processes each has been asked.
    for (let i = 0; i < 2 * readProcessTree(server.pid).length; i++) await askOnce(bed, signal);
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return bed;
}

/** One small question on a connection of its own. */
export async function askOnce(bed: Pick<Bed, 'product' | 'firstPath'>, signal: AbortSignal): Promise<void> {
  const product = { ...bed.product, headers: { ...bed.product.headers, connection: 'close' } };
  await fetchAnswer(product, bed.firstPath, signal);
}

/** The same data in another folder, as if it had never been served. */
export async function copyGround(ground: Ground, name: string): Promise<Ground> {
  const dataDir = join(ground.folder, name);
  await cp(ground.dataDir, dataDir, { recursive: true });
  return { ...ground, dataDir };
}
