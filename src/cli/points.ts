/** `corkboard points`: explains the figures of the points routes (decision 27). */
import type { Command } from 'commander';
import { AppError } from '../app-error.ts';
import type { Ledger } from '../dataset/dataset.ts';
import { FULL_SCOPE } from '../dataset/scope.ts';
import type { Store } from '../dataset/store.ts';
import { type BoardPolicy, policyOf, readPolicy } from '../points/policy.ts';
import { addExamples } from './examples.ts';
import { readIdentifier } from './options.ts';
import { type JsonOption, printResult } from './output.ts';
import { type StorageOptions, withStore } from './storage.ts';

interface ExplainOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly board: bigint;
  readonly user: bigint;
}

export function addPointsCommands(program: Command): void {
  const points = program.command('points').description('Explain points.');
  const example = 'corkboard points explain --organization school --board 7 --user 12';
  addExamples(points, [example]);
  const explain = points
    .command('explain')
    .description(
      'Show every award of one user on one board: when, what, rule, week, points, running total, and whether it counted or why not.',
    )
    .requiredOption('--organization <name>', 'the organization')
    .requiredOption('--board <id>', 'id of the board', readIdentifier)
    .requiredOption('--user <id>', 'id of the user', readIdentifier)
    .option('--json', 'print one JSON object')
    .action((_options: unknown, command: Command) => explainPoints(command.optsWithGlobals()));
  addExamples(explain, [example, `${example} --json`]);
}

async function explainPoints(options: ExplainOptions): Promise<void> {
  const { explainLedger, renderExplanation } = await import('../points/explanation.ts');
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
      `Organization ${name} has no data yet; "corkboard import" brings some.`,
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
