/** What the routes of one kind have in common in both variants; a row of a table adds the rest. */
import { type TSchema, Type } from 'typebox';
import type { ParameterName } from './parameters.ts';
import type { PathName } from './route.ts';
import { Event, PointsMap } from './schemas.ts';

const PAGED: readonly ParameterName[] = ['start', 'end', 'limit', 'cursor', 'format'];

const PERSON = {
  id: 12,
  email: 'ada@example.org',
  name: 'Ada Lovelace',
  role: 'user',
  class_role: 'instructor',
};

export const EVENTS = {
  tag: 'Events',
  parameters: PAGED,
  representations: ['json', 'ndjson', 'csv'],
  response: Type.Array(Event),
  example: [
    {
      type: 'board',
      action: 'followed',
      owner: PERSON,
      actor: PERSON,
      organization: { id: 1, name: 'Example', domain: 'example.org', category_id: 2 },
      board: { id: 7, title: 'Welcome', category: 'Communications' },
      timestamp: '2018-03-12T17:00:45.567+00:00',
    },
  ],
} as const;

export const ORDER_OF_EVENTS = 'Oldest first, ties by order of import. The range is about `timestamp`.';

/** A list of boards or users of one variant. */
export function listOf(tag: string, item: TSchema, example: unknown) {
  return {
    tag,
    of: 'organization',
    names: [],
    parameters: PAGED,
    representations: ['json', 'ndjson', 'csv'],
    response: Type.Array(item),
    example: [example],
    description: 'Ascending by id. The range is about the time of creation.',
  } as const;
}

const RECORD = {
  user_id: 12,
  board_id: 7,
  email: 'ada@example.org',
  total_points: 65,
  participation_score: 65,
};

export const POINTS_OF_BOARD = {
  tag: 'Points',
  of: 'board',
  parameters: ['start', 'end'],
  representations: ['json'],
  response: PointsMap,
  example: { 'ada@example.org': RECORD },
  description: 'Keyed by e-mail address, ascending by user id. The range is about when points were awarded.',
} as const;

export const POINTS_OF_USER = {
  tag: 'Points',
  of: 'user',
  parameters: ['start', 'end', 'key'],
  representations: ['json'],
  response: PointsMap,
  example: { '12': RECORD, '12:9': { ...RECORD, board_id: 9 } },
  description:
    'One record a board. The first one, of the lowest board id, sits under the user id, each further one under "user id:board id"; with `key=board` every record sits under its board id.',
} as const;

export function boardId(name: string): PathName {
  return { name, type: 'identifier', description: 'Board identifier.', example: 7 };
}

export function userId(name: string): PathName {
  return { name, type: 'identifier', description: 'User identifier.', example: 12 };
}
