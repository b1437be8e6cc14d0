/**
 * Route presets: the properties that routes of one kind share in both variants. A row of a table
 * adds the rest.
 */
import { type TSchema, Type } from 'typebox';
import type { ListKind } from '../../dataset/query.ts';
import type { Variant } from '../../render/text/rendered-body.ts';
import { LISTED } from '../../render/text/representations.ts';
import type { ParameterName } from '../request/parameters.ts';
import { answerList, type PathName, type Route } from '../request/route.ts';
import { PointsMap } from './schemas.ts';

export const PAGED: readonly ParameterName[] = ['start', 'end', 'limit', 'cursor', 'format', 'excel'];

/** A list of boards or users of one variant; `item` is the schema of its items. */
export function listRoute(of: ListKind, variant: Variant, item: TSchema, example: unknown): Route {
  const tag = of === 'boards' ? 'Boards' : 'Users';
  return {
    tag,
    operation: `list${tag}`,
    path: `/${of}`,
    summary: `The ${of} of the organization`,
    description: 'Ascending by id. The range is about the time of creation.',
    of: 'organization',
    names: [],
    parameters: PAGED,
    representations: LISTED,
    response: Type.Array(item),
    items: { ndjson: item, csv: item, parquet: item },
    example: [example],
    answer: (ask) => answerList(ask, of, variant),
  };
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
    'One record for each board, ascending by board id. By default the first one has the user id as its name, each further one "user id:board id". With `key=board`, or if the organization is set up so, every name is the board id. Read `user_id` and `board_id` of the records, never the names.',
} as const;

export function boardId(name: string): PathName {
  return { name, type: 'identifier', description: 'Board identifier.', example: 7 };
}

export function userId(name: string): PathName {
  return { name, type: 'identifier', description: 'User identifier.', example: 12 };
}
