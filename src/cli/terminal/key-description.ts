/** Keys in the output of commands: as JSON, as a table, and, only once, with the key itself. */
import { formatInstant } from '../../domain/instant.ts';
import { REDACTABLE, type Redaction } from '../../domain/redaction.ts';
import type { Scope } from '../../domain/scope.ts';
import type { KeyWarning } from '../../keys/key-warnings.ts';
import { type KeyEntry, mayLookUpPeople, maySeeLmsIds, type NewKey, statusOf } from '../../keys/keyring.ts';
import { type JsonOption, printResult, remark, renderFields, renderInstant, renderTable } from './output.ts';

/** A table shows this many ids of a list and the number of the others. */
const SHOWN_IDS = 4;

const KEY_COLUMNS = [
  'ID',
  'ORGANIZATION',
  'LABEL',
  'BOARDS',
  'USERS',
  'REDACTED',
  'NETWORKS',
  'STATUS',
  'WARNINGS',
  'CREATED',
  'EXPIRES',
  'LAST USE',
];

/** An entry as `--json` shows it. */
export function describeKey(entry: KeyEntry): object {
  return {
    id: entry.id,
    organization: entry.organization,
    label: entry.label,
    status: statusOf(entry, Date.now()),
    scope: entry.scope,
    redact: redactedFields(entry.redact),
    lmsLookup: mayLookUpPeople(entry),
    lmsIds: maySeeLmsIds(entry),
    lmsSplits: entry.lmsSplits ?? [],
    rateLimit: entry.rateLimit,
    networks: entry.networks,
    created: formatInstant(entry.createdMs),
    expires: formatOptional(entry.expiresMs),
    revoked: formatOptional(entry.revokedMs),
    lastUsed: formatOptional(entry.lastUsedMs),
    rotatedTo: entry.rotatedTo,
  };
}

export interface ListedKey {
  readonly entry: KeyEntry;
  readonly warnings: readonly KeyWarning[];
}

const WARNINGS: Readonly<Record<KeyWarning, string>> = {
  'expires-soon': 'expires soon',
  unused: 'unused',
  'lives-too-long': 'lives too long',
};

export function renderKeys(keys: readonly ListedKey[]): string {
  if (keys.length === 0) return 'There are no keys; "corkboard keys create" creates one.';
  const rows = keys.map(({ entry, warnings }) => [
    entry.id,
    entry.organization,
    entry.label,
    renderPart(entry.scope.boards),
    renderPart(entry.scope.users),
    redactedFields(entry.redact).join(','),
    renderNetworks(entry),
    statusOf(entry, Date.now()),
    renderWarnings(warnings),
    renderInstant(entry.createdMs),
    renderInstant(entry.expiresMs),
    renderInstant(entry.lastUsedMs),
  ]);
  return renderTable(KEY_COLUMNS, rows);
}

/** Everything about one key. `predecessor`: the id of the key that it replaces. */
export function renderWholeKey({ entry, warnings }: ListedKey, predecessor: string | undefined): string {
  return renderFields([
    ...fieldsOf(entry),
    ['status', statusOf(entry, Date.now())],
    ['warnings', renderWarnings(warnings)],
    ['created', renderInstant(entry.createdMs)],
    ['revoked', renderInstant(entry.revokedMs)],
    ['last use', renderInstant(entry.lastUsedMs)],
    ['predecessor', predecessor],
    ['successor', entry.rotatedTo],
  ]);
}

function renderWarnings(warnings: readonly KeyWarning[]): string {
  return warnings.map((warning) => WARNINGS[warning]).join(', ');
}

/** The only place that shows a key. */
export function printNewKey({ entry, key }: NewKey, options: JsonOption): void {
  printResult(options, { id: entry.id, key, ...describeKey(entry) }, () => renderKey(entry, key));
  remark('Store the key now; it is not shown again.');
}

/** Lines about one key; with the key itself only if it has just been created. */
export function renderKey(entry: KeyEntry, key?: string): string {
  return renderFields(fieldsOf(entry, key));
}

function fieldsOf(entry: KeyEntry, key?: string) {
  const { rateLimit } = entry;
  return [
    ['id', entry.id],
    ...(key === undefined ? [] : [['key', key] as const]),
    ['organization', entry.organization],
    ['boards', renderPart(entry.scope.boards)],
    ['users', renderPart(entry.scope.users)],
    ['redacted', redactedFields(entry.redact).join(',')],
    ['LMS lookup', renderLmsLookup(entry)],
    ['LMS splits', entry.lmsSplits?.join(',')],
    ['networks', renderNetworks(entry)],
    ['rate limit', rateLimit && `${rateLimit.requests} per ${rateLimit.perSeconds} s`],
    ['expires', renderInstant(entry.expiresMs) ?? 'never'],
    ['label', entry.label],
  ] as const;
}

function renderLmsLookup(entry: KeyEntry): string {
  if (maySeeLmsIds(entry)) return 'allowed, and LMS ids in gradebooks';
  return mayLookUpPeople(entry) ? 'allowed' : 'refused';
}

function formatOptional(instantMs: number | undefined): string | undefined {
  return instantMs === undefined ? undefined : formatInstant(instantMs);
}

function redactedFields(redact: Redaction): readonly string[] {
  return REDACTABLE.filter((field) => redact[field]);
}

function renderNetworks({ networks }: KeyEntry): string {
  return networks === undefined ? 'any' : renderSome(networks);
}

function renderPart(part: Scope['boards'] | Scope['users']): string {
  if (typeof part === 'string') return part;
  return part.length === 0 ? 'none' : renderSome(part);
}

function renderSome(part: readonly unknown[]): string {
  const more = part.length - SHOWN_IDS;
  return part.slice(0, SHOWN_IDS).join(',') + (more > 0 ? ` and ${more} more` : '');
}
