/**
 * Copies everything that a key can see of an organization, from any server with one of the
 * variants, into the local store, as one publication (decision 56). An interrupted pull continues
 * where it stopped. The server is not trusted (decision 61).
 */
import { hash } from 'node:crypto';
import { AppError } from '../domain/app-error.ts';
import type { Patience } from '../ingest/remote/request-with-retry.ts';
import { writePulledBundle } from './bundle.ts';
import { Fetching } from './fetching.ts';
import { PullFolder } from './folder.ts';
import { countGone, type Gone, isThere } from './gone.ts';
import { KeptDamage } from './kept-lines.ts';
import { LIMITS, type PullLimits } from './limits.ts';
import { refused } from './refusal.ts';
import { PullSource } from './source.ts';

export interface PullOptions {
  /** Base URL of a variant; `/v1/events` is below it. */
  readonly url: string;
  readonly key: string;
  /** Used only by this pull, and kept between pulls. */
  readonly folder: string;
  /** Publishes the files of a bundle. Returns false if it was refused. */
  readonly publish: (paths: readonly string[]) => Promise<boolean>;
  readonly patience?: Patience;
  readonly limits?: Partial<PullLimits>;
  readonly tell?: (news: string) => void;
}

/**
 * Records that the server no longer has, but the local store still has: a pull only adds and
 * replaces.
 */
export interface Missing extends Gone {
  /** Ids of users that the server has forgotten. */
  readonly forgotten: readonly string[];
}

export interface Pulled {
  readonly outcome: 'pulled' | 'unchanged' | 'refused';
  readonly gone: Missing;
}

const NOTHING_GONE: Missing = { users: 0, boards: 0, points: 0, forgotten: [] };

/**
 * Throws `source-refused`, and the errors of `publish`. Valid data is then kept for the next pull,
 * unless no bundle could be made of it. Throws `data-unreadable` when data cannot be kept.
 */
export async function pull(options: PullOptions): Promise<Pulled> {
  const { url, key, patience, tell } = options;
  const source = new PullSource(url, key, {
    ...patience,
    onPause: (reason) => tell?.(`Waiting: ${reason}.`),
  });
  const limits = { ...LIMITS, ...options.limits };
  const identity = `${source.base} ${hash('sha256', key)}`;
  const folder = await PullFolder.open(options.folder, identity, limits.shareOfDisk);
  try {
    return await pullInto(folder, source, limits, options);
  } catch (error) {
    if (!(error instanceof KeptDamage)) throw error;
    tell?.('The data kept from an earlier pull is damaged; starting over.');
    await folder.startOver();
  }
  try {
    return await pullInto(folder, source, limits, options);
  } catch (error) {
    throw error instanceof KeptDamage ? refused('the data kept in the data folder is damaged', false) : error;
  }
}

/**
 * Discards refused data: it would be refused again, but the server may have different data by the
 * next pull.
 */
async function refuseOnce(folder: PullFolder, error: unknown): Promise<never> {
  if (error instanceof AppError && error.code === 'source-refused') await folder.startOver();
  throw error;
}

async function pullInto(
  folder: PullFolder,
  source: PullSource,
  limits: PullLimits,
  { publish, tell }: PullOptions,
): Promise<Pulled> {
  const fetched = await new Fetching(source, folder, limits, (news) => tell?.(news)).everything();
  if (fetched === undefined) return { outcome: 'unchanged', gone: NOTHING_GONE };
  await folder.check();
  const { bundle, published, room } = folder;
  const { paths, hasEvents, forgotten, ids } = await writePulledBundle(bundle, fetched, limits, room).catch(
    (error: unknown) => refuseOnce(folder, error),
  );
  if (!hasEvents && !(await isThere(published))) {
    tell?.('No events can be seen yet, and only they say which organization it is. Nothing is published.');
    await folder.lookAgain();
    return { outcome: 'unchanged', gone: NOTHING_GONE };
  }
  const gone = { ...(await countGone(published, ids, forgotten)), forgotten: [...forgotten] };
  if (paths.length > 0 && !(await publish(paths))) {
    await folder.startOver();
    return { outcome: 'refused', gone: NOTHING_GONE };
  }
  await folder.settle(ids);
  return { outcome: paths.length > 0 ? 'pulled' : 'unchanged', gone };
}
