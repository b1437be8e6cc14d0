/**
 * Events that are too old to be kept, but too many to be deleted without a confirmation: a wrong
 * clock would make everything too old (decision 85).
 */
import type { Overdue } from './store.ts';

/** One in this number of events may be deleted unconfirmed. */
const LARGEST_SHARE = 5;

export function isTooMany(expired: number, all: number): boolean {
  return expired * LARGEST_SHARE > all;
}

/** Says which events stay although they are too old, and how they are deleted. */
export function describeOverdue(organization: string, { events, of, before, now }: Overdue): string {
  return `Events from before ${before} are too old to be kept: ${events} of ${of}, by the clock, which says ${now}. They stay: more than a fifth are deleted only with "corkboard expire --organization ${organization} --yes". Check the clock first.`;
}
