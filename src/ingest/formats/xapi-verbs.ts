/**
 * The verbs of xAPI and the actions that they become. Vocabularies name the same act differently,
 * and activitystrea.ms in the present tense.
 */
import { lookUp } from './format.ts';

/** Verbs by action: the last part of their IRI, in lower case. */
export const VERBS: Readonly<Record<string, readonly string[]>> = {
  visited: ['experienced', 'viewed', 'view', 'read', 'launched', 'accessed', 'access', 'navigated'],
  started: ['initialized', 'started', 'start'],
  interacted: ['interacted', 'interact'],
  followed: ['enrolled', 'registered', 'subscribed', 'followed', 'follow', 'joined', 'join'],
  unfollowed: [
    ...['unenrolled', 'unregistered', 'unsubscribed', 'unfollowed', 'unfollow', 'stop-following'],
    ...['left', 'leave'],
  ],
  created: ['created', 'create'],
  commented: ['commented', 'comment', 'replied', 'reply', 'responded', 'respond', 'asked', 'ask'],
  posted: ['posted', 'post'],
  submitted: ['submitted', 'submit'],
  liked: ['liked', 'like', 'favorited', 'favorite', 'voted-up'],
  bookmarked: ['bookmarked', 'saved', 'save'],
  shared: ['shared', 'share'],
  answered: ['answered'],
  attempted: ['attempted'],
  attended: ['attended', 'attend'],
  completed: ['completed', 'complete'],
  passed: ['passed'],
  failed: ['failed'],
  mastered: ['mastered'],
  progressed: ['progressed'],
  scored: ['scored'],
  earned: ['earned', 'achieved'],
  edited: ['edited', 'updated', 'update'],
  deleted: ['deleted', 'delete'],
  played: ['played', 'play'],
  paused: ['paused'],
  seeked: ['seeked'],
  satisfied: ['satisfied'],
  waived: ['waived'],
  abandoned: ['abandoned'],
  suspended: ['suspended'],
  resumed: ['resumed'],
  exited: ['exited'],
  imported: ['imported'],
};

/** Users do not perform these. */
export const DROPPED_VERBS: readonly string[] = ['terminated', 'voided'];

const ACTIONS = Object.fromEntries(
  Object.entries(VERBS).flatMap(([action, verbs]) => verbs.map((verb) => [verb, action])),
);

/** The last part of the IRI of a verb. */
export function wordOfVerb(verb: string): string {
  return verb.split(/[/#:]/).findLast((part) => part !== '') ?? verb;
}

/** The action of a verb by its last part; null drops the statement; undefined for other verbs. */
export function actionOfVerb(word: string): string | null | undefined {
  const small = word.toLowerCase();
  return DROPPED_VERBS.includes(small) ? null : lookUp(ACTIONS, small);
}
