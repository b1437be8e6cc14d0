/**
 * The subject of a request: the organization, one board or one user, named by the path. Also the
 * board and the user that the query names.
 */

import type { BoardName, UserName } from '../../dataset/query.ts';
import { AppError } from '../../domain/app-error.ts';
import type { Parameters } from './parameters.ts';
import type { AnyAnswer, Ask, PathText, Route } from './route.ts';

export interface PathResource {
  /** The same text for the same subject, however the request spells it. */
  readonly text: string;
  /** Whether it is a user named by an LMS property. */
  readonly isLmsLookup: boolean;
  /**
   * Finds the subject; the returned function makes the response. Throws `not-found`, the same for a
   * subject that does not exist and for one out of scope (decision 12), and `lookup-not-configured`
   * (decision 11).
   */
  find(ask: Ask): Promise<() => Promise<AnyAnswer>>;
}

/** Parses the names in the path. Throws `identifier-malformed`. */
export function readPathResource(route: Route, path: string): PathResource {
  const { text, isLmsLookup, find } = readPath(route, path);
  return {
    text,
    isLmsLookup,
    async find(ask) {
      const answer = await find(ask);
      await findNamed(ask);
      return answer;
    },
  };
}

/**
 * Indexes of the board and the user that the query names, if it does. Throws `not-found`, like
 * `Subject.find`.
 */
export async function findNamed({ dataset, scope, parameters }: Ask) {
  const { board: boardId, user: userId } = parameters;
  const board =
    boardId === undefined ? undefined : await dataset.findBoard(scope, { by: 'id', value: boardId });
  const user = userId === undefined ? undefined : await dataset.findUser(scope, { by: 'id', value: userId });
  if (boardId !== undefined && board === undefined) throw notFound();
  if (userId !== undefined && user === undefined) throw notFound();
  return { board, user };
}

function readPath(route: Route, path: string): PathResource {
  if (route.of === 'organization')
    return { text: '', isLmsLookup: false, find: async (ask) => () => route.answer(ask) };
  const text = pathTextOf(route.path, path);
  if (route.of === 'user of board') return pairSubject(route, text);
  return route.of === 'board' ? boardSubject(route, text) : userSubject(route, text);
}

function pairSubject(route: Extract<Route, { of: 'user of board' }>, text: PathText): PathResource {
  const [boardName, userName] = route.name(text);
  return {
    text: subjectText(boardName) + subjectText(userName),
    isLmsLookup: userName.by === 'lms',
    async find({ dataset, scope, ...ask }) {
      const board = await dataset.findBoard(scope, boardName);
      const user = await dataset.findUser(scope, userName);
      if (board === undefined || user === undefined) throw notFound();
      return () => route.answer({ dataset, scope, ...ask }, board, user);
    },
  };
}

function boardSubject(route: Extract<Route, { of: 'board' }>, text: PathText): PathResource {
  const name = route.name(text);
  return {
    text: subjectText(name),
    isLmsLookup: false,
    async find(ask) {
      if (name.by === 'course' && !ask.dataset.lookups.course) throw lookupNotConfigured();
      const board = await ask.dataset.findBoard(ask.scope, name);
      if (board === undefined) throw notFound();
      return () => route.answer(ask, board);
    },
  };
}

function userSubject(route: Extract<Route, { of: 'user' }>, text: PathText): PathResource {
  const name = route.name(text);
  return {
    text: subjectText(name),
    isLmsLookup: name.by === 'lms',
    async find(ask) {
      const { lmsUserProperties } = ask.dataset.lookups;
      if (name.by === 'lms' && !lmsUserProperties.includes(name.property)) throw lookupNotConfigured();
      const user = await ask.dataset.findUser(ask.scope, name);
      if (user === undefined) throw notFound();
      return () => route.answer(ask, user);
    },
  };
}

function subjectText(name: BoardName | UserName): string {
  return JSON.stringify(Object.values(name).map(String));
}

function notFound(): AppError {
  return new AppError(
    'not-found',
    'There is no such board or user, or this key may not see it. Check the identifier.',
  );
}

export function lookupNotConfigured(): AppError {
  return new AppError(
    'lookup-not-configured',
    'The organization has not switched on this look-up. Ask the operator of the service to do so.',
  );
}

/** The name of the file that the response is; absent: it is none. */
export function fileNameOf(route: Route, path: string, parameters: Parameters): string | undefined {
  return route.fileName?.(pathTextOf(route.path, path), parameters);
}

/**
 * Each segment is decoded once, so that a name can contain slashes and percent signs (decision 11).
 */
function pathTextOf(template: string, path: string): PathText {
  const names = template.split('/');
  const segments = path.split('/').slice(-names.length);
  return (name) => decodeURIComponent(segments[names.indexOf(`{${name}}`)] ?? '');
}
