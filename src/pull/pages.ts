/**
 * Fetches the pages of events of a server with sync tokens (decision 19), to the last one or a
 * refusal.
 */
import { nextCursor } from '../client/headers.ts';
import { MEDIA_TYPES } from '../client/media-types.ts';
import { NO_STEP, stepTo } from '../client/page-order.ts';
import { PATHS } from '../client/schema-a.ts';
import { MOST_RESTARTS } from '../client/sync.ts';
import type { PullFolder } from './folder.ts';
import type { PullLimits } from './limits.ts';
import type { Walk } from './progress.ts';
import { noInterface, refused } from './refusal.ts';
import { readPage } from './responses.ts';
import type { Got, PullSource } from './source.ts';

/** Number of events in a page. */
const PAGE_LIMIT = 10_000;
/**
 * Maximum length of a cursor or sync token in characters; the header fields of a response may take
 * 16 KiB together.
 */
const LONGEST_TOKEN = 8192;

/**
 * Fetches pages until there is no next one. Only then the new sync token is valid. Throws
 * `source-refused`.
 */
export async function readAllPages(
  source: PullSource,
  folder: PullFolder,
  limits: PullLimits,
  tell: (news: string) => void,
): Promise<void> {
  const { progress } = folder;
  if (progress.walkedRound === progress.round) return;
  let walk = progress.walk ?? beginningAt(progress.token ?? 'start');
  for (let restarts = 0; ; ) {
    const got = await askForPage(source, folder, limits, walk);
    if (got.outcome !== 'got') {
      if (got.outcome !== 'stale' || restarts++ === MOST_RESTARTS)
        throw noInterface(`${source.base}/v1/events`);
      tell('The server no longer accepts the cursor; starting again.');
      folder.dropPages();
      walk = beginningAt('start');
      continue;
    }
    if (got.bytes > 0) folder.putPage(got.bytes);
    const cursor = cursorOf(got.headers);
    if (cursor === undefined) {
      progress.token = tokenOf(got.headers.get('sync-token'));
      progress.walk = undefined;
      progress.walkedRound = progress.round;
      await folder.save();
      return;
    }
    walk = await advance(cursor, walk, folder, limits);
    tell(`Fetched ${progress.pages.count} pages of events.`);
  }
}

function beginningAt(since: string): Walk {
  return { since, ...NO_STEP };
}

async function askForPage(
  source: PullSource,
  { nextPage, room }: PullFolder,
  { pageBytes }: PullLimits,
  { since, cursor }: Walk,
): Promise<Got> {
  return await source.get({
    path: PATHS.listEvents,
    query: { since, limit: String(PAGE_LIMIT), cursor },
    ...{ file: nextPage, room, read: readPage, mostBytes: pageBytes },
    accept: MEDIA_TYPES.ndjson,
  });
}

/**
 * Advances the traversal by one page. The pages of a circle are discarded. Throws
 * `source-refused`.
 */
async function advance(cursor: string, walk: Walk, folder: PullFolder, { pages }: PullLimits): Promise<Walk> {
  const step = stepTo(cursor, walk);
  if (step === undefined || step.steps >= pages) {
    folder.dropPages();
    await folder.save();
    throw refused(
      step === undefined
        ? 'its pages of events lead in a circle'
        : `it has more than ${pages} pages of events`,
    );
  }
  const next = { since: walk.since, ...step };
  folder.progress.walk = next;
  await folder.save();
  return next;
}

function cursorOf(headers: Headers): string | undefined {
  let cursor: string | undefined;
  try {
    cursor = nextCursor(headers);
  } catch {
    throw refused('the URL of its next page has no cursor');
  }
  return cursor && checkLength(cursor);
}

function tokenOf(field: string | null): string | undefined {
  return field === null ? undefined : checkLength(field);
}

function checkLength(token: string): string {
  if (token.length <= LONGEST_TOKEN) return token;
  throw refused(`one of its cursors or tokens is longer than ${LONGEST_TOKEN} characters`);
}
