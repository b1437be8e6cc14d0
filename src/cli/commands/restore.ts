/** `corkboard restore`: puts the organizations of a backup into a data folder or a database. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { PlannedRestore, Restored } from '../../backup/restore.ts';
import { AppError } from '../../domain/app-error.ts';
import { removeFoldersOnSignals } from '../../system/temporary-folder.ts';
import { recordAct } from '../process/audit.ts';
import { removePulls } from '../process/pull-folder.ts';
import { type StorageOptions, withDryStorage, withPlace } from '../process/storage.ts';
import { openCopyDisplay } from '../terminal/copy-progress.ts';
import { addExamples } from '../terminal/examples.ts';
import { readName } from '../terminal/options.ts';
import { countOf, type JsonOption, printResult, remark, renderTable } from '../terminal/output.ts';
import { describeRules, renderRules } from '../terminal/rules.ts';
import { verifyWithProgress } from './check.ts';

interface RestoreCommandOptions extends StorageOptions, JsonOption {
  readonly organization?: readonly string[];
  readonly replace?: boolean;
  readonly dryRun?: boolean;
}

const WAIT_MS = 600_000;

export function addRestoreCommand(program: Command): void {
  const command = program
    .command('restore')
    .summary('Put the organizations of a backup into a data folder or a database.')
    .description(
      'Put the organizations of a backup and their keys into a data folder or a database: all of them, or none. The backup is verified first. Responses are the same as when the backup was made. An organization is recognized by its secret: it is restored under the name that it has now, if --organization gives that name, and otherwise refused. Its rules, and keys that the target knows, stay as they are there. Users who are erased in replaced data are erased from the restored data as well. Erasures that the target does not know must be repeated with "corkboard forget".',
    )
    .argument('<folder>', 'backup made by "corkboard backup"')
    .option(
      '-o, --organization <name>',
      'only this organization, by its present name; can be repeated (default: all)',
      readName,
    )
    .option(
      '--replace',
      'replace the data of organizations that the target has; other organizations stay (default: refuse a target with data)',
    )
    .option('--dry-run', 'verify the backup, say what would be restored, and change nothing')
    .option('--json', 'print one JSON object')
    .action((folder: string, _options: unknown, command: Command) =>
      restoreFrom(resolve(folder), command.optsWithGlobals()),
    );
  addExamples(command, [
    'corkboard restore /backup/corkboard-2026-11-24 --data /srv/corkboard',
    'corkboard restore /backup/today --organization school --replace --dry-run',
    'corkboard restore /backup/today --organization school --replace',
    'corkboard restore /backup/today --database postgres://corkboard@db.example.org/corkboard',
  ]);
}

async function restoreFrom(folder: string, options: RestoreCommandOptions): Promise<void> {
  // They contain copies of keys and, while users are erased again, of their data.
  removeFoldersOnSignals();
  const { readDescription } = await import('../../backup/backup-folder.ts');
  const { withBackup } = await import('../../backup/opened-backup.ts');
  const { planRestore, restore } = await import('../../backup/restore.ts');
  const { begun } = await readDescription(folder);
  const [problem] = await verifyWithProgress(folder);
  if (problem !== undefined) {
    throw new AppError(
      'data-unreadable',
      `The backup is damaged (${problem}); nothing was restored. Use a different backup; "corkboard check --backup ${folder}" lists all damage.`,
    );
  }
  const chosen = { organizations: options.organization, replace: options.replace === true };
  if (options.dryRun === true) {
    const plan = await withBackup(folder, (backup) =>
      withDryStorage(options, (place) =>
        withPlace(place, false, (target) => planRestore(backup, target, chosen)),
      ),
    );
    return printResult(options, { dryRun: true, made: begun, organizations: plan }, () =>
      renderPlan(begun, plan),
    );
  }
  const cause = { command: 'restore', source: folder };
  const turn = { waitMs: WAIT_MS, cause, onWait: () => remark('Waiting for another change to finish.') };
  const display = openCopyDisplay('Restoring', 'bytes');
  try {
    const restored = await withBackup(folder, (backup) =>
      withPlace(options, false, (target) =>
        restore(backup, target, {
          ...turn,
          onBytes: (done, total, organization) => display.show(done, total, organization),
          ...chosen,
          // What pulls keep is newer than the restored data, and would hide events from the next.
          removeOther: (names) => removePulls(options.data, names, turn),
        }),
      ),
    );
    for (const { organization, keys, newKeys } of restored) {
      const what = { keys: { restored: newKeys, unchanged: keys - newKeys } };
      await recordAct(options, { organization, what });
    }
    const organizations = restored.map(describeRestored);
    printResult(options, { made: begun, organizations }, () => renderRestored(begun, restored));
    warnOfRules(restored);
    warnOfErasures(begun, restored);
  } finally {
    display.end();
  }
}

function describeRestored({ rules, hasOtherRules: _, ...restored }: Restored) {
  return { ...restored, ...describeRules(rules) };
}

function renderPlan(made: string, plan: readonly PlannedRestore[]): string {
  const rows = plan.map(({ organization, version, replaces, keys, erased }) => [
    ...[organization, version ?? 'no data yet', replaces ? 'replaced' : 'new', keys],
    erased?.length ?? 'unknown',
  ]);
  const table = renderTable(['NAME', 'VERSION', 'DATA', 'KEYS', 'ERASED AGAIN'], rows);
  return `${table}\n\nThis would restore ${countOf(plan.length, 'organization')} as of ${made}. Nothing was changed (dry run).`;
}

function renderRestored(made: string, restored: readonly Restored[]): string {
  if (restored.length === 0) return 'There are no organizations to restore.';
  const rows = restored.map(({ organization, version, keys, newKeys, erased }) => [
    ...[organization, version ?? 'no data yet', newKeys, keys - newKeys, erased.length],
  ]);
  const table = renderTable(['NAME', 'VERSION', 'RESTORED KEYS', 'UNCHANGED KEYS', 'ERASED AGAIN'], rows);
  return `${table}\n\nRestored ${countOf(restored.length, 'organization')} as of ${made}.`;
}

function warnOfRules(restored: readonly Restored[]): void {
  for (const { organization, rules, rulesOf, hasOtherRules } of restored) {
    if (rulesOf === 'target' && hasOtherRules) {
      remark(
        `The rules of ${organization} stay as they were here, not as in the backup: ${renderRules(rules)}.`,
      );
    }
  }
}

function warnOfErasures(made: string, restored: readonly Restored[]): void {
  const unknown = restored.filter(({ knowsErased }) => !knowsErased).map(({ organization }) => organization);
  if (unknown.length > 0) {
    remark(
      `The replaced data of ${unknown.join(', ')} could not be read, so no user was erased again there.`,
    );
  }
  remark(
    `Users who were erased after ${made} are in the restored data again, except those that were erased in the data that was replaced. Repeat "corkboard forget" for them. Clients that sync must start again with since=start.`,
  );
}
