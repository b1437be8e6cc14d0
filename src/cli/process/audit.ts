/**
 * Records what commands change, after it has taken effect (decision 87). Stores and keyrings report
 * their changes here; commands that only take data out call `recordAct`.
 */
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import type { AuditEntry, AuditTrail } from '../../audit/audit-trail.ts';
import { type DescribedChange, describeKeyChange, describeStoreChange } from '../../audit/describe-change.ts';
import { AppError } from '../../domain/app-error.ts';
import type { StoredKeyring } from '../../keys/stored-keyring.ts';
import type { VersionStore } from '../../store/files/version-store.ts';
import { isReadOnly } from '../../system/read-only.ts';
import { concealSecrets, remark } from '../terminal/output.ts';
import { setting } from '../terminal/setting.ts';
import { openMigrated } from './database.ts';

/** For commands that write or read access records. */
export interface AuditFolderOption {
  /** Absent or empty: the folder of the audit in the data folder. */
  readonly auditFolder?: string;
}

/** The storage of a command; its audit is part of it. */
export interface AuditPlace {
  readonly data: string;
  readonly database?: string | undefined;
}

let command = 'corkboard';
/** Whether the command has said that it is not recorded. */
let isSaid = false;

/** The command that runs from now on: the last words that the records of its changes show. */
export function beginCommand(action: Command): void {
  const words: string[] = [];
  for (let at: Command | null = action; at?.parent; at = at.parent) words.unshift(at.name());
  command = words.join(' ') || action.name();
  isSaid = false;
}

export function recordChanges(place: AuditPlace, store: VersionStore): void {
  store.observe(async (change) => record(place, describeStoreChange(change)));
}

export function recordKeyChanges(place: AuditPlace, keyring: StoredKeyring): void {
  keyring.observe(async (change) => record(place, describeKeyChange(change)));
}

/**
 * Records what a command has done that its store does not report. If the data folder can only be
 * read, the command says once that there is no record.
 */
export async function recordAct(place: AuditPlace, act: DescribedChange): Promise<void> {
  if (!isReadOnlyPlace(place)) return await record(place, act);
  if (!isSaid) {
    remark(
      'corkboard: The data folder can only be read, so its audit has no record of this command. Write it down elsewhere.',
    );
  }
  isSaid = true;
}

/** Whether the storage is a data folder that can only be read. */
export function isReadOnlyPlace({ data, database }: AuditPlace): boolean {
  return !database && isReadOnly(data);
}

/** Opens the records of administration of a storage that exists. */
async function openTrail({ data, database: url }: AuditPlace): Promise<AuditTrail> {
  if (url) {
    const { openPostgresTrail } = await import('../../audit/postgres-trail.ts');
    return openPostgresTrail(await openMigrated(url));
  }
  const { openFolderTrail } = await import('../../audit/folder-trail.ts');
  return openFolderTrail(data);
}

export async function withTrail<T>(place: AuditPlace, use: (trail: AuditTrail) => Promise<T>): Promise<T> {
  const trail = await openTrail(place);
  try {
    return await use(trail);
  } finally {
    await trail.close();
  }
}

/** Never throws: the change is in force, and the command must still print its result. */
async function record(place: AuditPlace, change: DescribedChange | undefined): Promise<void> {
  if (change === undefined) return;
  try {
    await withTrail(place, (trail) => addRecord(trail, change));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    remark(
      `corkboard: The change is in force, but the audit has no record of it (${reason}). Write it down elsewhere, and run "corkboard check" before the next change.`,
    );
    process.exitCode = 1;
  }
}

/** Adds a record that is itself what a command does. Throws the errors of the storage. */
export async function addRecord(trail: AuditTrail, act: DescribedChange): Promise<void> {
  await trail.append(entryOf(act));
}

function entryOf({ command: own, organization, what }: DescribedChange): AuditEntry {
  const time = new Date().toISOString();
  const sudoUser = process.env['SUDO_USER'] || undefined;
  const who = { user: systemUser(), sudoUser, host: hostname() };
  return { time, command: own ?? command, organization, ...who, what: concealIn(what) };
}

/** Names of files can be URLs with passwords. */
function concealIn<T>(value: T): T;
function concealIn(value: unknown): unknown {
  if (typeof value === 'string') return concealSecrets(value);
  if (Array.isArray(value)) return value.map(concealIn);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, concealIn(member)]));
}

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // In containers, the id of a user need not have a name.
    return `uid ${process.getuid?.()}`;
  }
}

/** A data folder or a database, for a record. */
export function describePlace({ data, database }: AuditPlace): string {
  return database || data;
}

export function auditFolderOption(): Option {
  return setting(
    '--audit-folder <dir>',
    'folder of access records (default: audit in the data folder; required with a database)',
  );
}

/** The folder of access records; undefined with a database if none is named. */
export async function accessFolder({
  data,
  database,
  auditFolder,
}: AuditPlace & AuditFolderOption): Promise<string | undefined> {
  if (auditFolder) return auditFolder;
  if (database) return undefined;
  const { AUDIT_FOLDER } = await import('../../audit/folder-trail.ts');
  return join(data, AUDIT_FOLDER);
}

/** Throws `option-malformed` if there is none. */
export async function requireAccessFolder(options: AuditPlace & AuditFolderOption): Promise<string> {
  const folder = await accessFolder(options);
  if (folder !== undefined) return folder;
  throw new AppError(
    'option-malformed',
    'A database has no folder for access records. Name one of this machine with --audit-folder or CORKBOARD_AUDIT_FOLDER.',
  );
}
