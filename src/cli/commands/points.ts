/** `corkboard points`: explains the points totals of the API (decision 27). */
import type { Command } from 'commander';
import type { Ledger } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { FULL_SCOPE } from '../../domain/scope.ts';
import { type BoardPolicy, policyOf, readPolicy } from '../../points/policy.ts';
import type { Store } from '../../store/store.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { type StorageOptions, withStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readIdentifier } from '../terminal/options.ts';
import { type JsonOption, printResult } from '../terminal/output.ts';

interface ExplainOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly board: bigint;
  readonly user: bigint;
}

export function addPointsCommands(program: Command): void {
  const points = program.command('points').description('Explain points totals.');
  const example = 'corkboard points explain --organization school --board 7 --user 12';
  addExamples(points, [example]);
  const explain = points
    .command('explain')
    .summary('List every award of one user on one board.')
    .description(
      'List every award and adjustment of one user on one board, with its time, event, rule, week, points and running total, and whether it counted or why not.',
    )
    .addOption(organizationOption('name of the organization'))
    .requiredOption('--board <id>', 'id of the board', readIdentifier)
    .requiredOption('--user <id>', 'id of the user', readIdentifier)
    .option('--json', 'print one JSON object')
    .action(async (_options: unknown, command: Command) =>
      explainPoints(await chooseOrganization(command.optsWithGlobals())),
    );
  addExamples(explain, [example, `${example} --json`]);
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
  const dataset = await store.openDataset(name);
  if (dataset === undefined) {
    throw new AppError(
      'not-published',
      `Organization ${name} has no data yet. Use "corkboard import" to load some.`,
    );
  }
  try {
    const boardIndex = await dataset.findBoard(FULL_SCOPE, { by: 'id', value: board });
    if (boardIndex === undefined) throw new AppError('not-found', `${name} has no board ${board}.`);
    const userIndex = await dataset.findUser(FULL_SCOPE, { by: 'id', value: user });
    if (userIndex === undefined) throw new AppError('not-found', `${name} has no user ${user}.`);
    const ledger = await dataset.ledger({ scope: FULL_SCOPE, board: boardIndex, user: userIndex });
    return { ledger, policy: policyOf(readPolicy(dataset.policy), board) };
  } finally {
    await dataset.close();
  }
}
