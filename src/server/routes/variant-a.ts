/** Variant A of the contract (section 4.2): one row per route. */

import { type Ask, identifierNamed, type VariantTable } from '../request/route.ts';
import { eventRoutes } from './event-routes.ts';
import { boardId, listRoute, POINTS_OF_BOARD, POINTS_OF_USER, userId } from './route-presets.ts';
import { BoardOfVariantA, UserOfVariantA } from './schemas.ts';

export const VARIANT_A: VariantTable = {
  variant: 'a',
  title: 'Corkboard, Variant A',
  version: '2.2.1',
  unversioned: [],
  routes: [
    ...eventRoutes({
      all: '/events',
      ofBoard: '/events/board/{board-id}',
      ofPins: '/events/pins',
      ofUser: '/events/user/{user-id}',
    }),
    listRoute('boards', 'a', BoardOfVariantA, { id: 7, title: 'Welcome' }),
    listRoute('users', 'a', UserOfVariantA, {
      id: 12,
      first_name: 'Ada',
      last_name: 'Lovelace',
      email: 'ada@example.org',
    }),
    {
      ...POINTS_OF_BOARD,
      operation: 'getPointsOfBoard',
      path: '/board/{boardId}/points',
      summary: 'Points of all users on a board',
      names: [boardId('boardId')],
      name: (text) => ({ by: 'id', value: identifierNamed('boardId', text) }),
      answer: pointsOfBoard,
    },
    {
      ...POINTS_OF_USER,
      operation: 'getPointsOfUser',
      path: '/user/{userId}/points',
      summary: 'Points of a user on the boards that the user is on',
      names: [userId('userId')],
      name: (text) => ({ by: 'id', value: identifierNamed('userId', text) }),
      answer: pointsOfUser,
    },
    {
      ...POINTS_OF_BOARD,
      operation: 'getPointsOfLti',
      path: '/lti/{ltiId}/points',
      summary: 'Points of all users on the board with an LTI id',
      names: [{ name: 'ltiId', type: 'text', description: 'LTI identifier of a board.', example: 'lti-7' }],
      name: (text) => ({ by: 'lti', value: text('ltiId') }),
      answer: pointsOfBoard,
    },
    {
      ...POINTS_OF_BOARD,
      operation: 'getPointsOfCourse',
      path: '/course/{courseId}/points',
      summary: 'Points of all users on the board of a course',
      names: [{ name: 'courseId', type: 'text', description: 'LMS course identifier.', example: 'BIO-101' }],
      name: (text) => ({ by: 'course', value: text('courseId') }),
      answer: pointsOfBoard,
    },
    {
      ...POINTS_OF_USER,
      operation: 'getPointsOfLmsUser',
      path: '/lms_user/{prop}/{val}/points',
      summary: 'Points of the user with a value of an LMS property',
      names: [
        {
          name: 'prop',
          type: 'text',
          description: 'Name of an LMS user property.',
          example: 'student_number',
        },
        { name: 'val', type: 'text', description: 'Its value.', example: '00417' },
      ],
      name: (text) => ({ by: 'lms', property: text('prop'), value: text('val') }),
      answer: pointsOfUser,
    },
  ],
};

async function pointsOfBoard(ask: Ask, board: number) {
  return ask.rendering.standings({ scope: ask.scope, range: rangeAsked(ask), of: { board } }, 'email');
}

async function pointsOfUser(ask: Ask, user: number) {
  const query = { scope: ask.scope, range: rangeAsked(ask), of: { user } };
  const usual = ask.dataset.userPointsKey === 'board-id' ? 'board' : 'user';
  return ask.rendering.standings(query, ask.parameters.key ?? usual);
}

function rangeAsked(ask: Ask) {
  return { startMs: ask.parameters.start, endMs: ask.parameters.end };
}
