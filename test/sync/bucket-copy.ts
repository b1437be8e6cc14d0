/** A small copy in a bucket, and a change of it. */
import assert from 'node:assert/strict';
import type { FaultProxy } from '../s3/fault-proxy.ts';
import { BUCKET } from './copies.ts';
import { NO_CHANGES, runWith, type ScriptedEvent } from './scripted.ts';

export const HOLDER = '.corkboard/holder';

export function event(id: string, day: string, actor = 1, title = 'Board'): ScriptedEvent {
  return { id, actor, instantMs: Date.parse(`${day}T12:00:00Z`), title };
}

/** Events in January, February and March. */
export const FIRST = [event('a', '2018-01-05'), event('b', '2018-02-05', 2), event('c', '2018-03-05', 2)];
export const START = [{ ...NO_CHANGES, startsAnew: true, events: FIRST }];
/** Moves the event of January to April, and deletes that of March. */
export const MOVED = event('a', '2018-04-05');
export const CHANGE = [{ ...NO_CHANGES, deleted: ['c'], events: [MOVED, event('d', '2018-02-06')] }];
export const SECOND = [MOVED, FIRST[1]!, event('d', '2018-02-06')];

export async function firstCopyIn(folder: string) {
  const place = await BUCKET.make(folder);
  await runWith(place, START, 'first');
  return place;
}

export type BucketPlace = Awaited<ReturnType<typeof firstCopyIn>>;

export async function assertNothingUnfinished({ objects }: BucketPlace): Promise<void> {
  const keys = await objects.keys();
  assert.deepEqual(
    keys.filter((key) => key.startsWith('.corkboard/')),
    [HOLDER],
  );
}

/** The same place behind a proxy. */
export function behind(proxy: FaultProxy, place: BucketPlace): BucketPlace {
  const url = new URL(place.address);
  url.searchParams.set('endpoint', proxy.endpoint);
  return { ...place, address: String(url) };
}
