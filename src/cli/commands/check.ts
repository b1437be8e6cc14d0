/** `corkboard check`: looks for damage in a data folder, a database or a backup. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { AuditTrail } from '../../audit/audit-trail.ts';
import { AppError } from '../../domain/app-error.ts';
import { readReserve } from '../../keys/disk-reserve.ts';
import { readKeyEntry } from '../../keys/key-row.ts';
import { type CheckFinding, reasonOf } from '../../store/files/check-report.ts';
import type { VersionStore } from '../../store/files/version-store.ts';
import { removeFoldersOnSignals } from '../../system/temporary-folder.ts';
import { hasFlippedUnusedBit } from '../../system/unused-space.ts';
import { isLogDamaged } from '../../system/write-ahead-log.ts';
import {
  type AuditFolderOption,
  accessFolder,
  auditFolderOption,
  isReadOnlyPlace,
  withTrail,
} from '../process/audit.ts';
import {
  type DataPlace,
  hasStorage,
  type StorageOptions,
  withCatalog,
  withPlace,
} from '../process/storage.ts';
import { countBytes } from '../terminal/byte-counter.ts';
import { addExamples } from '../terminal/examples.ts';
import { readName } from '../terminal/options.ts';
import { countOf, type JsonOption, printResult } from '../terminal/output.ts';

interface CheckOptions extends StorageOptions, JsonOption, AuditFolderOption {
  readonly organization?: readonly string[];
  readonly backup?: string;
}

const READ_ONLY =
  'The data folder can only be read, so files that interrupted commands have left were not looked for.';

type OnFinding = (level: CheckFinding['level'], message: string) => void;

export function addCheckCommand(program: Command): void {
  const check = program
    .command('check')
    .summary('Look for damage in a data folder, a database or a backup.')
    .description(
      'Read everything that is stored and compare it with its checksums and with each other: catalog, keys, every kept version, the chunks of a database, and the chain of audit records. Servers and imports can keep running. The exit code is 0 if everything is in order and 1 if something is damaged; each line says what to do. Notes name what cannot be verified.',
    )
    .option('--backup <folder>', 'check a backup instead of the data folder')
    .option('-o, --organization <name>', 'only this organization; can be repeated (default: all)', readName)
    .addOption(auditFolderOption())
    .option('--json', 'print one JSON object')
    .action((_options: unknown, command: Command) => checkData(command.optsWithGlobals()));
  addExamples(check, [
    'corkboard check --data /srv/corkboard',
    'corkboard check --organization school --json',
    'corkboard check --backup /backup/corkboard-2026-11-24',
  ]);
}

async function checkData(options: CheckOptions): Promise<void> {
  const findings: CheckFinding[] = [];
  const add: OnFinding = (level, message) => findings.push({ level, organization: undefined, message });
  const onFinding = (finding: CheckFinding) => void findings.push(finding);
  let checked: readonly string[] = [];
  if (options.backup !== undefined) {
    checked = await checkBackup(resolve(options.backup), options.organization, add, onFinding);
  } else {
    if (!hasStorage(options)) {
      throw new AppError('data-unreadable', `There is no data folder ${options.data}. Check --data.`);
    }
    if (options.database) await checkDatabase(options.database, add);
    else await checkFolder(options.data, add);
    if (isReadOnlyPlace(options)) add('note', READ_ONLY);
    checked = await opened(add, () =>
      withPlace(options, true, (place) => checkPlace(place, options.organization, add, onFinding)),
    );
    await opened(add, async () => {
      const folder = await accessFolder(options);
      await withTrail(options, (trail) => checkAudit(trail, folder, add));
      return [];
    });
  }
  const damage = findings.filter(({ level }) => level === 'damage').length;
  const { zoneData } = await import('../../system/zones.ts');
  const result = { ok: damage === 0, organizations: checked, findings, zoneData: zoneData() };
  printResult(options, result, () => renderFindings(checked, findings, result.zoneData));
  if (damage > 0) process.exitCode = 1;
}

/** Files that are checked before they are opened, because that can change them. */
async function checkFolder(data: string, add: OnFinding): Promise<void> {
  for (const name of ['catalog.db', 'keys.db']) {
    const path = join(data, name);
    if (existsSync(path) && hasFlippedUnusedBit(path)) {
      add(
        'damage',
        `${name} has a changed bit in unused space. No data is lost, but the disk may be failing. "corkboard backup", then "corkboard restore" to a new folder writes the file again.`,
      );
    }
    if (!(await isLogDamaged(`${path}-wal`))) continue;
    add(
      'damage',
      `${name}-wal is damaged: the last changes of ${name} are lost, as after a power failure. Check the current versions and revoked keys, or restore from a backup.`,
    );
  }
  if (readReserve(data) === 'damaged') {
    add('damage', '.keys-reserve is damaged. It holds no data: delete it; the next "serve" writes it again.');
  }
}

async function checkDatabase(url: string, add: OnFinding): Promise<void> {
  if (await withCatalog(url, (catalog) => catalog.hasChecksums())) return;
  add(
    'note',
    'The database has no data checksums, so damage of the catalog and keys by its disk cannot be found. "pg_checksums --enable" adds them.',
  );
}

/** Reports a store that cannot be opened at all. */
async function opened(
  add: OnFinding,
  check: () => Promise<readonly string[]>,
  advice = 'Restore it from a backup.',
): Promise<readonly string[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof AppError && error.code !== 'data-unreadable') throw error;
    add('damage', `The data cannot be read (${reasonOf(error)}). ${advice}`);
    return [];
  }
}

async function checkPlace(
  { store, keys }: DataPlace,
  names: readonly string[] | undefined,
  add: OnFinding,
  onFinding: (finding: CheckFinding) => void,
): Promise<readonly string[]> {
  for (const name of names ?? []) await store.organization(name);
  const checked = await store.check(names, onFinding, { onBytes: countBytes('Checking') });
  for (const name of checked) await noteOutdated(store, name, onFinding);
  const problems = (await keys.findDamage?.()) ?? [];
  for (const problem of problems) add('damage', problem);
  if (problems.length === 0) await checkKeys({ store, keys }, add);
  return checked;
}

/** Notes which imports read local times with other time zone rules. */
async function noteOutdated(
  store: VersionStore,
  organization: string,
  onFinding: (finding: CheckFinding) => void,
): Promise<void> {
  const { describeOutdated, outdatedTimes } = await import('../../store/local-times.ts');
  // Damage is a finding already.
  for (const one of outdatedTimes(await store.versions(organization).catch(() => [])))
    onFinding({ level: 'note', organization, message: describeOutdated(organization, one) });
}

async function checkAudit(trail: AuditTrail, folder: string | undefined, add: OnFinding): Promise<void> {
  const { checkAccess } = await import('../../audit/access-files.ts');
  const { checkTrail } = await import('../../audit/check-trail.ts');
  const report = {
    damage: (message: string) => add('damage', message),
    note: (message: string) => add('note', message),
  };
  await checkTrail(trail, report);
  if (folder !== undefined) await checkAccess(folder, report);
}

async function checkKeys({ store, keys }: DataPlace, add: OnFinding): Promise<void> {
  const known = new Set((await store.organizations()).map(({ name }) => name));
  for (const row of await keys.all(undefined)) {
    try {
      readKeyEntry(row);
    } catch (error) {
      add('damage', `The key ${row.id} cannot be read (${reasonOf(error)}). Revoke it and create a new one.`);
    }
    if (known.has(row.organization) || row.revoked_ms !== null) continue;
    add(
      'note',
      `The key ${row.id} belongs to ${row.organization}, which does not exist here. It gives access to nothing; revoke it.`,
    );
  }
}

async function checkBackup(
  folder: string,
  names: readonly string[] | undefined,
  add: OnFinding,
  onFinding: (finding: CheckFinding) => void,
): Promise<readonly string[]> {
  const { readDescription } = await import('../../backup/backup-folder.ts');
  const { withBackup } = await import('../../backup/opened-backup.ts');
  removeFoldersOnSignals();
  if (!existsSync(folder)) {
    throw new AppError('data-unreadable', `There is no folder ${folder}. Check --backup.`);
  }
  return await opened(
    add,
    async () => {
      const { organizations } = await readDescription(folder);
      const problems = await verifyWithProgress(folder);
      for (const problem of problems) add('damage', `${problem}. Use a different backup.`);
      // Changed files would only be reported again, with advice for a data folder.
      if (problems.length > 0) return names ?? organizations.map(({ organization }) => organization);
      return await withBackup(folder, (place) => checkPlace(place, names, add, onFinding));
    },
    'Use a different backup.',
  );
}

/** Compares the files of a backup with their digests. Returns what is wrong, one line each. */
export async function verifyWithProgress(folder: string): Promise<readonly string[]> {
  const { verifyBackup } = await import('../../backup/backup-folder.ts');
  return await verifyBackup(folder, countBytes('Verifying'));
}

function renderFindings(
  checked: readonly string[],
  findings: readonly CheckFinding[],
  zoneData: string,
): string {
  const lines = findings.map(({ level, message }) => `${level === 'damage' ? 'Damage' : 'Note'}: ${message}`);
  const damage = findings.filter(({ level }) => level === 'damage').length;
  const result = damage === 0 ? 'found no damage' : `found damage in ${countOf(damage, 'place')}`;
  return [
    ...lines,
    `Time zone rules: ${zoneData}.`,
    `Checked ${countOf(checked.length, 'organization')} and ${result}.`,
  ].join('\n');
}
