/**
 * What an audit record says about a change: the values before and after it, as far as they differ.
 * Never a key, a secret, an id of a user, or the label of a key, which can name a person (decision
 * 86).
 */
import { hash } from 'node:crypto';
import { REDACTABLE } from '../domain/redaction.ts';
import { type KeyEntry, type KeyringChange, mayLookUpPeople, maySeeLmsIds } from '../keys/keyring.ts';
import type { Changes, RuleChanges, Settings, StoreChange } from '../store/store.ts';
import { type AuditMembers, renderExact } from './audit-record.ts';

export interface DescribedChange {
  /** Absent: the command that runs. */
  readonly command?: string | undefined;
  readonly organization: string | undefined;
  readonly what: AuditMembers;
}

/** Names of files beyond these are only counted. */
const MOST_FILES = 100;
/** A larger value is recorded as its digest. */
const MOST_VALUE_BYTES = 4096;

/** Undefined if nothing has changed. */
export function describeStoreChange(change: StoreChange): DescribedChange | undefined {
  const { organization, cause } = change;
  const what = whatChanged(change);
  return what && { command: cause?.command, organization, what };
}

function whatChanged(change: StoreChange): AuditMembers | undefined {
  switch (change.type) {
    case 'created':
      return { created: true, after: boundMembers(membersOf(change.settings)) };
    case 'rules-changed':
      return differences(rulesOf(change.before), rulesOf(change.after));
    case 'renamed':
      return differences({ name: change.before }, { name: change.organization });
    case 'removed':
      return { removed: true };
    case 'published':
      return describePublication(change);
    case 'copied-here': {
      const { version, replaced, cause, rules } = change;
      return { version: version ?? null, replaced, source: cause?.source, rules: rulesOf(rules) };
    }
  }
}

/** Every rule, null where none is set. */
function rulesOf(rules: RuleChanges): AuditMembers {
  const { longestKeyLifeMs = null, keptVersions = null, keptVersionsMs = null, keptEvents = null } = rules;
  return { longestKeyLifeMs, keptVersions, keptVersionsMs, keptEvents };
}

function describePublication(change: Extract<StoreChange, { type: 'published' }>): AuditMembers | undefined {
  const { cause, outcome } = change;
  const { published, version, changes } = outcome;
  const settings = differences(membersOf(change.before), membersOf(change.after));
  if (!published) return settings;
  if (cause?.command === 'forget') {
    return { version, users: changes.users.added + changes.users.changed };
  }
  const { files, restored } = cause ?? {};
  const more = (files?.length ?? 0) - MOST_FILES;
  return {
    version,
    restored,
    files: files?.slice(0, MOST_FILES),
    ...(more > 0 && { moreFiles: more }),
    counts: countsOf(changes),
    ...settings,
  };
}

/** The kinds of records with changes, without the unchanged ones. */
function countsOf(changes: Changes): AuditMembers {
  return Object.fromEntries(
    Object.entries(changes).flatMap(([kind, { added, changed, deleted }]) =>
      added + changed + deleted === 0 ? [] : [[kind, { added, changed, deleted }]],
    ),
  );
}

function membersOf(settings: Settings): AuditMembers {
  return { ...settings };
}

/** Undefined if nothing has changed. */
export function describeKeyChange(change: KeyringChange): DescribedChange | undefined {
  const what = whatKeyChanged(change);
  return what && { organization: change.after.organization, what };
}

function whatKeyChanged(change: KeyringChange): AuditMembers | undefined {
  const { type, before, after } = change;
  switch (type) {
    case 'created':
      return { key: after.id, after: boundMembers(grantOf(after)) };
    case 'configured':
      return describeConfigured(before, after);
    case 'rotated':
      return {
        key: before.id,
        ...differences({ expires: instantOf(before.expiresMs) }, { expires: instantOf(change.retiresMs) }),
        successor: { key: after.id, expires: instantOf(after.expiresMs) },
      };
    case 'revoked':
      if (before?.revokedMs !== undefined) return undefined;
      return { key: after.id, before: { revoked: null }, after: { revoked: instantOf(after.revokedMs) } };
  }
}

function describeConfigured(before: KeyEntry, after: KeyEntry): AuditMembers | undefined {
  const changed = differences(grantOf(before), grantOf(after));
  const users = userChanges(before.scope.users, after.scope.users);
  const label = before.label === after.label ? undefined : { labelChanged: true };
  if (changed === undefined && users === undefined && label === undefined) return undefined;
  return { key: after.id, ...changed, ...users, ...label };
}

function grantOf(entry: KeyEntry): AuditMembers {
  const { scope, redact, rateLimit, networks, expiresMs } = entry;
  return {
    boards: scope.boards,
    // Ids would outlive the erasure of a user.
    users: typeof scope.users === 'string' ? scope.users : scope.users.length,
    redact: REDACTABLE.filter((field) => redact[field]),
    lmsLookup: mayLookUpPeople(entry),
    lmsIds: maySeeLmsIds(entry),
    lmsSplits: entry.lmsSplits ?? [],
    rateLimit: rateLimit ?? null,
    networks: networks ?? 'any',
    expires: instantOf(expiresMs),
  };
}

/** How a list of users differs, because only its length is recorded. */
function userChanges(
  before: KeyEntry['scope']['users'],
  after: KeyEntry['scope']['users'],
): AuditMembers | undefined {
  if (typeof before === 'string' || typeof after === 'string') return undefined;
  const [former, present] = [new Set(before), new Set(after)];
  const usersAdded = after.filter((id) => !former.has(id)).length;
  const usersRemoved = before.filter((id) => !present.has(id)).length;
  return usersAdded + usersRemoved === 0 ? undefined : { usersAdded, usersRemoved };
}

function instantOf(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : new Date(instantMs).toISOString();
}

/** The members that differ; undefined if there are none. */
function differences(before: AuditMembers, after: AuditMembers): AuditMembers | undefined {
  const changed = Object.keys(after).filter((name) => renderExact(before[name]) !== renderExact(after[name]));
  if (changed.length === 0) return undefined;
  const pick = (members: AuditMembers) =>
    boundMembers(Object.fromEntries(changed.map((name) => [name, members[name]])));
  return { before: pick(before), after: pick(after) };
}

function boundMembers(members: AuditMembers): AuditMembers {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, bound(value)]));
}

function bound(value: unknown): unknown {
  const text = typeof value === 'string' ? value : renderExact(value);
  const bytes = Buffer.byteLength(text);
  return bytes <= MOST_VALUE_BYTES ? value : { bytes, sha256: hash('sha256', text) };
}
