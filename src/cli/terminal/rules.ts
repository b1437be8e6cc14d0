/** The rules of an organization, for people and for programs. */
import { renderLife } from '../../keys/key-life.ts';
import { KEPT_VERSIONS, type Rules } from '../../store/store.ts';
import { countOf } from './output.ts';

/** Names and values for people. */
export function ruleFields(rules: Rules): readonly [name: string, value: string][] {
  const { longestKeyLifeMs } = rules;
  return [
    ['longest key life', longestKeyLifeMs === undefined ? 'no limit' : renderLife(longestKeyLifeMs)],
    ['kept versions', renderKeptVersions(rules)],
    ['kept events', renderKeptEvents(rules)],
  ];
}

/** In one line. */
export function renderRules(rules: Rules): string {
  return ruleFields(rules)
    .map(([name, value]) => `${name}: ${value}`)
    .join('; ');
}

/** Members of a JSON object. Durations are in seconds; undefined: no limit. */
export function describeRules({
  longestKeyLifeMs,
  keptVersions = KEPT_VERSIONS,
  keptVersionsMs,
  keptEvents,
}: Rules) {
  return {
    longestKeyLifeSeconds: longestKeyLifeMs && longestKeyLifeMs / 1_000,
    keptVersions,
    keptVersionsSeconds: keptVersionsMs && keptVersionsMs / 1_000,
    keptEvents,
  };
}

function renderKeptVersions({ keptVersions = KEPT_VERSIONS, keptVersionsMs }: Rules): string {
  const latest = `the last ${keptVersions}`;
  return keptVersionsMs === undefined ? latest : `${latest}, and those of ${renderLife(keptVersionsMs)}`;
}

function renderKeptEvents({ keptEvents }: Rules): string {
  if (keptEvents === undefined) return 'all';
  return 'months' in keptEvents ? countOf(keptEvents.months, 'month') : countOf(keptEvents.days, 'day');
}
