/**
 * All queries about an organization of `arbitrary.ts`: each route, with existing and unknown ids
 * and names.
 */
import type { ParsedRequest } from './answers.ts';
import { BOARD_IDS, LMS_PROPERTIES, UNKNOWN_ID, USER_IDS } from './arbitrary.ts';
import type { Model } from './model.ts';

export const EVENT_LISTS: readonly ParsedRequest[] = [
  { route: 'events' },
  { route: 'events with pins' },
  ...[...BOARD_IDS, UNKNOWN_ID].map((id): ParsedRequest => ({ route: 'events of a board', id })),
  ...[...USER_IDS, UNKNOWN_ID].map((id): ParsedRequest => ({ route: 'events of a user', id })),
];

export function questionsAbout(model: Model): readonly ParsedRequest[] {
  return [
    ...EVENT_LISTS,
    { route: 'boards' },
    { route: 'users' },
    ...[...BOARD_IDS, UNKNOWN_ID].map(
      (id): ParsedRequest => ({ route: 'points of a board', by: 'id', name: String(id) }),
    ),
    ...names(model.boards.map((board) => board.ltiId)).map(
      (name): ParsedRequest => ({ route: 'points of a board', by: 'lti', name }),
    ),
    ...names(model.boards.map((board) => board.courseId)).map(
      (name): ParsedRequest => ({ route: 'points of a board', by: 'course', name }),
    ),
    ...[...USER_IDS, UNKNOWN_ID].flatMap((id): ParsedRequest[] => [
      { route: 'points of a user', id, keyedBy: 'user' },
      { route: 'points of a user', id, keyedBy: 'board' },
    ]),
    ...LMS_PROPERTIES.flatMap((property) =>
      names(model.users.map((user) => user.lms[property])).map(
        (value): ParsedRequest => ({ route: 'points of an LMS user', property, value, keyedBy: 'user' }),
      ),
    ),
  ];
}

/** The non-empty names, and one that does not exist. */
function names(all: readonly (string | undefined)[]): readonly string[] {
  return [...all, 'no user has this'].flatMap((name) => (name === undefined || name === '' ? [] : [name]));
}
