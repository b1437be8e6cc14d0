/**
 * Copies what a key can see of an organization from any server that speaks one of the variants into the local store, as
 * one publication (decision 56). What was interrupted goes on where it was.
 */
import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Patience } from '../ingest/patient-request.ts';
import { writePulledBundle } from './bundle.ts';
import { Fetching } from './fetching.ts';
import { PullFolder } from './progress.ts';
import { Source } from './source.ts';

export interface PullOptions {
  /** Base of a variant: `/v1/events` lies below it. */
  readonly url: string;
  readonly key: string;
  /** Of this pull alone; kept between pulls. */
  readonly folder: string;
  /** Publishes the files of a bundle; false when it was refused. */
  readonly publish: (paths: readonly string[]) => Promise<boolean>;
  readonly patience?: Patience;
  readonly tell?: (news: string) => void;
}

/** What the server has no longer and the local store, which adds and replaces, still has. */
export interface Gone {
  readonly users: number;
  readonly boards: number;
  readonly points: number;
  /** Ids of people whom the server has forgotten. */
  readonly forgotten: readonly string[];
}

export interface Pulled {
  readonly outcome: 'pulled' | 'unchanged' | 'refused';
  readonly gone: Gone;
}

const NOTHING_GONE: Gone = { users: 0, boards: 0, points: 0, forgotten: [] };

/** Throws `source-refused`, and what `publish` throws; then everything that was got is kept for the next time. */
export async function pull({
  url,
  key,
  folder: path,
  publish,
  patience,
  tell,
}: PullOptions): Promise<Pulled> {
  const source = new Source(url, key, { ...patience, onPause: (reason) => tell?.(`Waiting: ${reason}.`) });
  const folder = await PullFolder.open(path, `${source.base} ${hash('sha256', key)}`);
  const fetched = await new Fetching(source, folder, (news) => tell?.(news)).everything();
  if (fetched === undefined) return { outcome: 'unchanged', gone: NOTHING_GONE };
  const { paths, hasEvents, forgotten } = await writePulledBundle(
    join(path, 'bundle'),
    fetched,
    folder.pages,
  );
  if (!hasEvents && !(await isThere(join(path, 'published')))) {
    tell?.('No events can be seen yet, and only they say which organization it is. Nothing is published.');
    await folder.lookAgain();
    return { outcome: 'unchanged', gone: NOTHING_GONE };
  }
  const gone = { ...(await goneFrom(join(path, 'published'), join(path, 'bundle'), forgotten)), forgotten };
  if (paths.length > 0 && !(await publish(paths))) {
    // What was refused once would be refused again; perhaps the server has something else by then.
    await rm(path, { recursive: true });
    return { outcome: 'refused', gone: NOTHING_GONE };
  }
  await rm(join(path, 'published'), { recursive: true, force: true });
  await rename(join(path, 'bundle'), join(path, 'published'));
  await folder.settle();
  return { outcome: paths.length > 0 ? 'pulled' : 'unchanged', gone };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

const IDENTITY = /^\{("id":-?\d+|"user_id":-?\d+,"board_id":-?\d+)/;

/** What goes with people who are forgotten stays nowhere. */
async function goneFrom(
  before: string,
  now: string,
  forgotten: readonly string[],
): Promise<Omit<Gone, 'forgotten'>> {
  const theirs = new RegExp(`^"user_id":(?:${forgotten.join('|')}),`);
  const count = async (kind: 'users' | 'boards' | 'points') => {
    const left = await identitiesIn(join(before, `${kind}.ndjson`));
    for (const identity of await identitiesIn(join(now, `${kind}.ndjson`))) left.delete(identity);
    if (forgotten.length > 0) for (const identity of left) if (theirs.test(identity)) left.delete(identity);
    return left.size;
  };
  return { users: await count('users'), boards: await count('boards'), points: await count('points') };
}

/** None when there is no such file. */
async function identitiesIn(path: string): Promise<Set<string>> {
  const identities = new Set<string>();
  try {
    for await (const line of createInterface({ input: createReadStream(path) })) {
      const [, identity] = IDENTITY.exec(line) ?? [];
      if (identity !== undefined) identities.add(identity);
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  return identities;
}
