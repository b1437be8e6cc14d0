/**
 * `corkboard points`: explains the points totals of the API (decision 27), and writes them for
 * gradebooks (decision 92).
 */
import { type Command, Option } from 'commander';
import type { Dataset, Ledger } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { FULL_SCOPE } from '../../domain/scope.ts';
import {
  COLUMN_TITLE,
  GRADEBOOKS,
  GRADED_VALUES,
  type Gradebook,
  type GradebookColumn,
  type GradedUser,
  type GradedValue,
  gradebookLines,
  leastMaximum,
  mostOf,
} from '../../points/gradebook.ts';
import { type GradedQuery, readGradedUsers, type UsersLeftOut } from '../../points/graded-users.ts';
import { type BoardPolicy, policyOf, readPolicy } from '../../points/policy.ts';
import type { Store } from '../../store/store.ts';
import { withIds } from '../process/named-records.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { publishChange, turnOf } from '../process/publish.ts';
import { type StorageOptions, withStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readInstant, readLine, readRecord } from '../terminal/options.ts';
import { countOf, type JsonOption, printResult, remark } from '../terminal/output.ts';

/** How long `recompute` waits for another change to end. */
const WAIT_MS = 600_000;

interface ExplainOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly board: bigint;
  readonly user: bigint;
}

const BOARD_HELP = 'id, title or LTI id of the board';

export function addPointsCommands(program: Command): void {
  const points = program
    .command('points')
    .description('Explain points totals, compute them again, and write them for gradebooks.');
  const example = 'corkboard points explain --organization school --board 7 --user 12';
  addExamples(points, [example]);
  const explain = points
    .command('explain')
    .summary('List every award of one user on one board.')
    .description(
      'List every award and adjustment of one user on one board, with its time, event, rule, week, points and running total, and whether it counted or why not.',
    )
    .addOption(organizationOption('name of the organization'))
    .requiredOption('--board <board>', BOARD_HELP, readRecord)
    .requiredOption('--user <user>', 'id or address of the user', readRecord)
    .option('--json', 'print one JSON object')
    .action(async (_options: unknown, command: Command) =>
      explainPoints(await withIds(await chooseOrganization(command.optsWithGlobals()))),
    );
  addExamples(explain, [
    example,
    'corkboard points explain --organization school --board Chemistry --user ada@example.org',
    `${example} --json`,
  ]);
  addExportCommand(points);
  addRecomputeCommand(points);
}

interface RecomputeOptions extends StorageOptions, JsonOption {
  readonly organization: string;
}

function addRecomputeCommand(points: Command): void {
  const recompute = points
    .command('recompute')
    .summary('Compute points again if weeks begin at other times.')
    .description(
      'Compute points again, and publish them, if weeks of the points policy begin at other times by the time zone rules in use. Every import does the same, so this is only needed if none is run.',
    )
    .addOption(organizationOption('name of the organization'))
    .option('--json', 'print one JSON object')
    .action(async (_options: unknown, command: Command) =>
      recomputePoints(await chooseOrganization(command.optsWithGlobals<RecomputeOptions>())),
    );
  addExamples(recompute, ['corkboard points recompute --organization school']);
}

async function recomputePoints(options: RecomputeOptions): Promise<void> {
  const { organization } = options;
  const { zoneData } = await import('../../system/zones.ts');
  const rules = zoneData();
  const turn = { ...turnOf(organization, WAIT_MS), cause: { command: 'points recompute' } };
  const { published, version } = await withStore(options, (store) =>
    publishChange(store, organization, turn),
  );
  printResult(options, { published, version, zoneData: rules }, () =>
    published
      ? `Computed points with the time zone rules ${rules}. Published as version ${version} of ${organization}.`
      : `Nothing has changed: weeks begin at the same times by the time zone rules ${rules}.`,
  );
}

interface GradebookOptions extends StorageOptions {
  readonly organization: string;
  readonly board: bigint;
  readonly for: Gradebook;
  readonly value: GradedValue;
  readonly column: string;
  /** Absent: users are known by their e-mail address. */
  readonly id?: string;
  readonly classRole?: string;
  readonly start?: number;
  readonly end?: number;
}

function addExportCommand(points: Command): void {
  const command = points
    .command('export')
    .summary('Write the points of a board for a gradebook.')
    .description(
      'Write the points of all users on a board to standard output, as a CSV file that the gradebook of a learning management system imports. docs/gradebooks.md describes the columns and how to import them.',
    )
    .addOption(organizationOption('name of the organization'))
    .requiredOption('--board <board>', BOARD_HELP, readRecord)
    .addOption(
      new Option('--for <system>', 'the system that imports the file').choices(GRADEBOOKS).default('generic'),
    )
    .addOption(
      new Option('--value <value>', 'participation score, or total points')
        .choices(GRADED_VALUES)
        .default('score'),
    )
    .option('--column <title>', 'title of the column in the gradebook', readLine, COLUMN_TITLE)
    .option(
      '--id <property>',
      'LMS property with the id by which the system knows users; otherwise the e-mail address',
    )
    .option('--class-role <role>', 'only users with this class role, such as student')
    .option('--start <time>', 'only points from this time on', readInstant)
    .option('--end <time>', 'only points before this time', readInstant)
    .action(async (_options: unknown, command: Command) =>
      exportPoints(await withIds(await chooseOrganization(command.optsWithGlobals()))),
    );
  addExamples(command, [
    'corkboard points export --organization school --board 7 --for canvas > grades.csv',
    'corkboard points export --organization school --board 7 --for moodle --id sis_user_id --class-role student',
  ]);
}

async function exportPoints(options: GradebookOptions): Promise<void> {
  const { start, end } = options;
  if (start !== undefined && end !== undefined && start > end)
    throw new AppError('option-malformed', 'The start must not be later than the end.');
  const { users, leftOut, most } = await withStore(options, (store) => readGraded(store, options));
  const byLmsId = options.id !== undefined;
  const column: GradebookColumn = { title: options.column, value: options.value, most, byLmsId };
  process.stdout.write([...gradebookLines(options.for, column, users)].join(''));
  for (const line of remarksOn(options, users, leftOut)) remark(line);
}

function* remarksOn(
  { for: gradebook, value, id, classRole }: GradebookOptions,
  users: readonly GradedUser[],
  { byRole, withoutId, unknowable }: UsersLeftOut,
): Generator<string, void> {
  const left = (count: number) => `${countOf(count, 'user')} left out`;
  const otherRole = [...byRole.values()].reduce((sum, count) => sum + count, 0);
  if (otherRole > 0) yield `${left(otherRole)}, without the class role ${classRole}.`;
  if (otherRole > 0 && users.length + withoutId + unknowable === 0) {
    const roles = [...byRole.keys()].filter((role) => role !== '').sort();
    yield `No user is left. Class roles on the board: ${roles.join(', ') || 'none'}.`;
  }
  if (withoutId > 0) yield `${left(withoutId)}, without a value of ${id}.`;
  if (unknowable > 0) {
    const keys = id === undefined ? 'addresses' : 'ids';
    yield `${left(unknowable)}, whose ${keys} Moodle cannot know: it imports no grades if one is unknown.`;
  }
  const maximum = leastMaximum(gradebook, value, users);
  if (maximum !== undefined)
    yield `Set the maximum of the grade item to at least ${maximum}, the largest value.`;
}

async function readGraded(store: Store, options: GradebookOptions) {
  const { organization, board, id, classRole, start, end, for: gradebook } = options;
  const { name, settings } = await store.organization(organization);
  if (id !== undefined && !settings.lmsUserProperties.includes(id)) {
    const known = settings.lmsUserProperties.join(', ') || 'none';
    throw new AppError('option-malformed', `${name} has no LMS property ${id}. It has: ${known}.`);
  }
  return await withDataset(store, name, async (dataset) => {
    const index = await findBoard(dataset, name, board);
    const range = { startMs: start, endMs: end };
    const query: GradedQuery = {
      ...{ scope: FULL_SCOPE, range, board: index },
      ...{ property: id, classRole, gradebook },
    };
    const { users, leftOut } = await readGradedUsers(dataset, query);
    const most = mostOf(policyOf(readPolicy(dataset.policy), board), options.value);
    return { users: [...users], leftOut, most };
  });
}

async function explainPoints(options: ExplainOptions): Promise<void> {
  const { explainLedger, renderExplanation } = await import('../../points/explanation.ts');
  const { ledger, policy } = await withStore(options, (store) => readLedger(store, options));
  const explanation = explainLedger(ledger, policy);
  printResult(options, explanation, () => renderExplanation(explanation).trimEnd());
}

async function readLedger(
  store: Store,
  { organization, board, user }: ExplainOptions,
): Promise<{ ledger: Ledger; policy: BoardPolicy }> {
  const { name } = await store.organization(organization);
  return await withDataset(store, name, async (dataset) => {
    const boardIndex = await findBoard(dataset, name, board);
    const userIndex = await dataset.findUser(FULL_SCOPE, { by: 'id', value: user });
    if (userIndex === undefined) throw new AppError('not-found', `${name} has no user ${user}.`);
    const ledger = await dataset.ledger({ scope: FULL_SCOPE, board: boardIndex, user: userIndex });
    return { ledger, policy: policyOf(readPolicy(dataset.policy), board) };
  });
}

async function withDataset<T>(store: Store, name: string, use: (dataset: Dataset) => Promise<T>): Promise<T> {
  const dataset = await store.openDataset(name);
  if (dataset === undefined) {
    throw new AppError(
      'not-published',
      `Organization ${name} has no data yet. Use "corkboard import" to load some.`,
    );
  }
  try {
    return await use(dataset);
  } finally {
    await dataset.close();
  }
}

async function findBoard(dataset: Dataset, name: string, board: bigint): Promise<number> {
  const index = await dataset.findBoard(FULL_SCOPE, { by: 'id', value: board });
  if (index !== undefined) return index;
  throw new AppError('not-found', `${name} has no board ${board}.`);
}
