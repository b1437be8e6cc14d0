/**
 * Local times that imports have read, and whether they would be others by the time zone rules in
 * use (decision 107).
 */
import { zoneOf } from '../system/zones.ts';
import type { LocalTimeSpan, PublishedVersion } from './store.ts';

const DAY_MS = 86_400_000;

/** What an import records that has read local times of a zone, from one instant to another. */
export function localTimesOf(zone: string, fromMs: number, toMs: number): LocalTimeSpan {
  return { zone, fromMs, toMs, offsets: zoneOf(zone)?.offsetsBetween(fromMs, toMs) ?? [] };
}

export interface OutdatedTimes {
  readonly zone: string;
  /** The first instant at which the rules differ. */
  readonly fromMs: number;
  readonly publishedMs: number;
  readonly files: readonly string[];
}

/**
 * Imports whose local times are others by the rules in use, as long as no later one has read the
 * same times again. `history`: in any order.
 */
export function outdatedTimes(history: readonly PublishedVersion[]): readonly OutdatedTimes[] {
  return history.flatMap(({ publication, publishedMs, cause, localTimes }) => {
    const fromMs = localTimes && firstDifference(localTimes);
    if (localTimes === undefined || fromMs === undefined) return [];
    const isReadAgain = history.some(
      (later) => later.publication > publication && covers(later.localTimes, localTimes),
    );
    return isReadAgain ? [] : [{ zone: localTimes.zone, fromMs, publishedMs, files: cause?.files ?? [] }];
  });
}

/** A different rule moves the first and the last time by less than a day. */
function covers(later: LocalTimeSpan | undefined, { zone, fromMs, toMs }: LocalTimeSpan): boolean {
  if (later?.zone !== zone || firstDifference(later) !== undefined) return false;
  return later.fromMs < fromMs + DAY_MS && later.toMs > toMs - DAY_MS;
}

function firstDifference({ zone, fromMs, toMs, offsets }: LocalTimeSpan): number | undefined {
  const present = localTimesOf(zone, fromMs, toMs).offsets;
  const isSame = (at: number) => String(present[at]) === String(offsets[at]);
  const places = Array.from({ length: Math.max(present.length, offsets.length) }, (_, at) => at);
  const first = places.find((at) => !isSame(at));
  return first === undefined
    ? undefined
    : Math.min(...[present, offsets].flatMap((all) => all[first]?.[0] ?? []));
}

/** `organization` and what to do, in sentences. */
export function describeOutdated(
  organization: string,
  { zone, fromMs, publishedMs, files }: OutdatedTimes,
): string {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 'yyyy-mm-dd'.length);
  const listed = files.length === 0 ? '' : ` (${files.join(', ')})`;
  return `Local times of ${zone} that ${organization} imported on ${day(publishedMs)}${listed} were read with other time zone rules, which differ from ${day(fromMs)} on. Import the files again: their events are corrected.`;
}
