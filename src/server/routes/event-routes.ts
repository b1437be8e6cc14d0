/** The events routes. Only their paths differ between the two variants (contract 4.2, 4.3). */
import { Type } from 'typebox';
import type { EventQuery } from '../../dataset/query.ts';
import { LISTED, tellsChanges } from '../../render/text/representations.ts';
import {
  type AnyAnswer,
  type Ask,
  eventsAsked,
  eventsOf,
  identifierNamed,
  type Route,
} from '../request/route.ts';
import { boardId, PAGED, userId } from './route-presets.ts';
import { EventRow } from './row-schemas.ts';
import { Change, Event, StreamMessage } from './schemas.ts';

const PERSON = {
  id: 12,
  email: 'ada@example.org',
  name: 'Ada Lovelace',
  role: 'user',
  class_role: 'instructor',
};

export const EVENT_LIST = {
  tag: 'Events',
  representations: LISTED,
  response: Type.Array(Event),
  items: { ndjson: Event, csv: EventRow, parquet: EventRow },
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

const EVENTS = {
  ...EVENT_LIST,
  description:
    'Oldest first; events with the same time in order of import. The time range applies to `timestamp`. With `Accept: text/event-stream` the response is a live stream: it sends changes as they are published, from now on, or since the token in `since` or `Last-Event-ID`. With `since`, each event has a `sync_id`. Erased users come first, as `{"forgotten":{"user":5}}` (`Forgotten`), then deleted events, as `{"sync_id":"…","deleted":true}` (`Deleted`). With `token=record`, the last item is the sync token, as `{"sync_token":"…"}` (`Synced`). These are the only items that do not match `Event`.',
  parameters: [...PAGED, 'since', 'token'],
  representations: [...EVENT_LIST.representations, 'event-stream'],
  items: { ...EVENT_LIST.items, ndjson: Change, 'event-stream': StreamMessage },
} as const;

/** Paths contain a board as `{board-id}` and a user as `{user-id}`. */
export function eventRoutes(
  paths: Readonly<Record<'all' | 'ofBoard' | 'ofPins' | 'ofUser', string>>,
): Route[] {
  return [
    {
      ...EVENTS,
      operation: 'listEvents',
      path: paths.all,
      summary: 'All interactions of the organization',
      of: 'organization',
      names: [],
      answer: (ask) => answerEvents(ask, {}),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfBoard',
      path: paths.ofBoard,
      summary: 'All interactions on a board',
      of: 'board',
      names: [boardId('board-id')],
      name: (text) => ({ by: 'id', value: identifierNamed('board-id', text) }),
      answer: (ask, board) => answerEvents(ask, { board }),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfPins',
      path: paths.ofPins,
      summary: 'All events of type pin, across all boards',
      of: 'organization',
      names: [],
      answer: (ask) => answerEvents(ask, { pinsOnly: true }),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfUser',
      path: paths.ofUser,
      summary: 'All interactions from a user',
      of: 'user',
      names: [userId('user-id')],
      name: (text) => ({ by: 'id', value: identifierNamed('user-id', text) }),
      answer: (ask, actor) => answerEvents(ask, { actor }),
    },
  ];
}

async function answerEvents(
  ask: Ask,
  of: Partial<Pick<EventQuery, 'board' | 'actor' | 'pinsOnly'>>,
): Promise<AnyAnswer> {
  const query = { ...eventsAsked(ask), ...of };
  const { rendering, representation, since, parameters } = ask;
  if (since === undefined) return eventsOf(ask, query);
  if (!tellsChanges(representation)) throw new Error('`readRequest` refuses tables with `since`.');
  const token = parameters.token === undefined ? undefined : ask.syncToken;
  return rendering.changes(query, { since: since.sequence, representation, token, admit: ask.admit });
}
