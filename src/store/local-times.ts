/**
 * Local times that imports have read, and whether they would be others by the time zone rules in
 * use (decision 107).
 */
import { firstDifference } from '../domain/zone.ts';
import { zoneOf } from '../system/zones.ts';
import type { LocalTimeSpan, PublishedVersion } from './store.ts';

const DAY_MS = 86_400_000;

/** What an import records that has read local times of a zone, from one instant to another. */
export function localTimesOf(zone: string, fromMs: number, toMs: number): LocalTimeSpan {
  return { zone, fromMs, toMs, offsets: zoneOf(zone)?.offsetsBetween(fromMs, toMs) ?? [] };
}

export interface OutdatedTimes {
  readonly zone: string;
  /** The first instant at which the rules differ, in Unix milliseconds. */
  readonly fromMs: number;
  /** When the import was published, likewise. */
  readonly publishedMs: number;
  readonly files: readonly string[];
}

/**
 * Imports whose local times are others by the rules in use, as long as no later one has read the
 * same times again. `history`: in any order.
 */
export function outdatedTimes(history: readonly PublishedVersion[]): readonly OutdatedTimes[] {
  return history.flatMap(({ publication, publishedMs, cause, localTimes }) => {
    const fromMs = localTimes && changedFrom(localTimes);
    if (localTimes === undefined || fromMs === undefined) return [];
    const isReadAgain = history.some(
      (later) => later.publication > publication && covers(later.localTimes, localTimes),
    );
    return isReadAgain ? [] : [{ zone: localTimes.zone, fromMs, publishedMs, files: cause?.files ?? [] }];
  });
}

/** A different rule moves the first and the last time by less than a day. */
function covers(later: LocalTimeSpan | undefined, { zone, fromMs, toMs }: LocalTimeSpan): boolean {
  if (later?.zone !== zone || changedFrom(later) !== undefined) return false;
  return later.fromMs < fromMs + DAY_MS && later.toMs > toMs - DAY_MS;
}

function changedFrom({ zone, fromMs, toMs, offsets }: LocalTimeSpan): number | undefined {
  return firstDifference(localTimesOf(zone, fromMs, toMs).offsets, offsets);
}

/** Which times of which import are others, and what to do: two sentences. */
export function describeOutdated(
  organization: string,
  { zone, fromMs, publishedMs, files }: OutdatedTimes,
): string {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 'yyyy-mm-dd'.length);
  const listed = files.length === 0 ? '' : ` (${files.join(', ')})`;
  return `Local times of ${zone} that ${organization} imported on ${day(publishedMs)}${listed} were read with other time zone rules, which differ from ${day(fromMs)} on. Import the files again: their events are corrected.`;
}
