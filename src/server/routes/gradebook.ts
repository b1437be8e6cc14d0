/** The points of a board as the file that a gradebook imports (decisions 92 and 101). */
import {
  COLUMN_TITLE,
  type GradebookColumn,
  type GradedUser,
  gradebookLines,
  mostOf,
} from '../../points/gradebook.ts';
import { type GradedQuery, readGradedUsers } from '../../points/graded-users.ts';
import { policyOf, readPolicy } from '../../points/policy.ts';
import { textAnswer } from '../../render/text/json-body.ts';
import type { RenderedBody } from '../../render/text/rendered-body.ts';
import { lookupNotConfigured } from '../request/path-resource.ts';
import { type Ask, identifierNamed, type Route } from '../request/route.ts';
import { GradebookFile, GradebookRow } from './insight-schemas.ts';
import { boardId } from './route-presets.ts';

const BOARD_ID = 'board-id';

export const GRADEBOOK: Route = {
  tag: 'Points',
  operation: 'getGradebook',
  path: `/boards/{${BOARD_ID}}/gradebook`,
  summary: 'Points of the users on a board as a file for a gradebook',
  description:
    'The file of `corkboard points export`, with the names and addresses of the users that the key sees. For `moodle`, users whom Moodle cannot know are left out, because it would import no grades; the unknown owner is left out for all systems. Refused for keys that redact anything. The range is about when points were awarded.',
  of: 'board',
  names: [boardId(BOARD_ID)],
  parameters: ['for', 'value', 'column', 'id', 'class_role', 'start', 'end', 'format'],
  untagged: ['format'],
  representations: ['csv'],
  namesUsers: true,
  fileName: (text, { for: system = 'generic' }) => `${system}-board-${identifierNamed(BOARD_ID, text)}.csv`,
  response: GradebookFile,
  items: { csv: GradebookRow },
  example: '"Email address","Participation"\r\n"ada@example.org","65"\r\n',
  name: (text) => ({ by: 'id', value: identifierNamed(BOARD_ID, text) }),
  answer: answerGradebook,
};

async function answerGradebook(ask: Ask, board: number): Promise<RenderedBody> {
  const { dataset, scope, parameters, rendering } = ask;
  const { start, end, id, class_role: classRole } = parameters;
  const { for: system = 'generic', value = 'score', column = COLUMN_TITLE } = parameters;
  if (id !== undefined && !dataset.lookups.lmsUserProperties.includes(id)) throw lookupNotConfigured();
  const describe = await rendering.described();
  const range = { startMs: start, endMs: end };
  const query: GradedQuery = { scope, range, board, property: id, classRole, gradebook: system };
  const { users } = await readGradedUsers(dataset, query, describe.users);
  const most = mostOf(policyOf(readPolicy(dataset.policy), describe.board(board).id), value);
  const asked: GradebookColumn = { title: column, value, most, byLmsId: id !== undefined };
  let rows = 0;
  function* counted(): Generator<GradedUser, void> {
    for (const user of users) {
      rows += 1;
      yield user;
    }
  }
  const body = await textAnswer(gradebookLines(system, asked, counted()));
  return { ...body, rows };
}
