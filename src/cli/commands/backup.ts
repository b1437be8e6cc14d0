/** `corkboard backup`: copies organizations with their keys into a folder of their own. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { BackupDescription } from '../../backup/backup-folder.ts';
import { readProductVersion } from '../../system/product-version.ts';
import { recordAct } from '../process/audit.ts';
import { type StorageOptions, withPlace } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readName } from '../terminal/options.ts';
import { type JsonOption, printResult, renderTable } from '../terminal/output.ts';
import { type Copied, copyAll } from './copy.ts';

interface BackupOptions extends StorageOptions, JsonOption {
  readonly organization?: readonly string[];
}

export function addBackupCommand(program: Command): void {
  const backup = program
    .command('backup')
    .summary('Copy organizations and their keys to a backup folder.')
    .description(
      'Copy the current version of every organization, its settings, its secret and its keys to a folder, with a SHA-256 digest of every file. Servers and imports can keep running. The folder appears when it is complete. It contains secrets and personal data: protect it like the data folder.',
    )
    .argument('<folder>', 'folder to write; must be new or empty')
    .option('-o, --organization <name>', 'only this organization; can be repeated (default: all)', readName)
    .option('--json', 'print one JSON object')
    .action((folder: string, _options: unknown, command: Command) =>
      backUp(resolve(folder), command.optsWithGlobals()),
    );
  addExamples(backup, [
    'corkboard backup /backup/corkboard-2026-11-24 --data /srv/corkboard',
    'corkboard backup ./school --organization school --json',
    'corkboard backup /backup/today --database postgres://corkboard@db.example.org/corkboard',
  ]);
}

async function backUp(folder: string, options: BackupOptions): Promise<void> {
  const { writeBackup } = await import('../../backup/backup-folder.ts');
  const description = await withPlace(options, true, (from) =>
    writeBackup(folder, async (data) => {
      const begun = new Date().toISOString();
      const copied = await withPlace({ data, isUnrecorded: true }, false, (to) =>
        copyAll(from, to, { organization: options.organization, keys: true }),
      );
      return {
        ...{ corkboard: readProductVersion(), begun, ended: new Date().toISOString() },
        source: options.database ? 'database' : 'data folder',
        organizations: copied.map(describeCopied),
      };
    }),
  );
  for (const { organization, version } of description.organizations) {
    await recordAct(options, { organization, what: { version, folder } });
  }
  printResult(options, { folder, ...description }, () => renderBackup(folder, description));
}

function describeCopied({ organization, version, ...counts }: Copied) {
  return { organization, version: version ?? null, ...counts };
}

function renderBackup(folder: string, { organizations }: BackupDescription): string {
  const rows = organizations.map(({ organization, version, events, users, boards, pins, keys }) => [
    ...[organization, version ?? 'no data yet', ...[events, users, boards, pins, keys].map(Number)],
  ]);
  const table = renderTable(['NAME', 'VERSION', 'EVENTS', 'USERS', 'BOARDS', 'PINS', 'KEYS'], rows);
  return `${table}\n\nBacked up to ${folder}`;
}
