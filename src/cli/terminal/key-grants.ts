/** What a key grants, from the options of `keys create` and `keys configure`. */
import { AppError } from '../../domain/app-error.ts';
import { NO_REDACTION, type Redaction } from '../../domain/redaction.ts';
import type { Scope } from '../../domain/scope.ts';
import {
  type Expiry,
  hasTooManySplits,
  type KeyChanges,
  type KeyEntry,
  type KeyGrant,
  lmsLookupAfter,
  lmsSplitsAfter,
  type RateLimit,
} from '../../keys/keyring.ts';

/** The options for the permissions of a key. */
export interface GrantOptions {
  readonly boards?: Scope['boards'];
  readonly users?: Scope['users'];
  readonly redact?: Redaction;
  readonly allowLmsLookup?: boolean;
  readonly lmsSplits?: readonly string[];
  readonly networks?: readonly string[] | 'any';
  readonly expires?: Expiry;
  readonly label?: string;
}

export interface GrantChanges extends GrantOptions {
  readonly rateLimit?: RateLimit | 'default';
}

/** The grant of a new key; options that are not given have their defaults. */
export function grantOf(options: GrantOptions): Omit<KeyGrant, 'organization' | 'rateLimit'> {
  const { boards = 'all', redact = NO_REDACTION } = options;
  return {
    label: options.label ?? '',
    scope: { boards, users: options.users ?? usersOf(boards) },
    redact,
    allowLmsLookup: options.allowLmsLookup,
    lmsSplits: checkSplits({ redact, lmsSplits: splitsOf(options) }),
    networks: networksOf(options),
  };
}

/** The changes of an existing key; what is not given stays as it is. */
export function changesOf(options: GrantChanges, entry: KeyEntry): KeyChanges {
  const { label, redact, allowLmsLookup, rateLimit, expires } = options;
  const { boards, users } = entry.scope;
  const fallback =
    options.boards === undefined || typeof users !== 'string' ? users : usersOf(options.boards);
  return {
    scope: { boards: options.boards ?? boards, users: options.users ?? fallback },
    ...(label !== undefined && { label }),
    ...(redact !== undefined && { redact }),
    allowLmsLookup: allowLmsLookup ?? lmsLookupAfter(entry, redact),
    ...splitChanges(options, entry),
    ...(rateLimit !== undefined && { rateLimit: rateLimit === 'default' ? undefined : rateLimit }),
    ...(options.networks !== undefined && { networks: networksOf(options) }),
    expiry: expires,
  };
}

/** Other changes leave the splits as they are, also if a command could not give them. */
function splitChanges({ lmsSplits, redact }: GrantChanges, entry: KeyEntry): Pick<KeyChanges, 'lmsSplits'> {
  if (lmsSplits === undefined && redact === undefined) return {};
  const given = lmsSplits === undefined ? lmsSplitsAfter(entry, redact) : splitsOf({ lmsSplits });
  return { lmsSplits: checkSplits({ redact: redact ?? entry.redact, lmsSplits: given }) };
}

function checkSplits(grant: Pick<KeyGrant, 'redact' | 'lmsSplits'>): readonly string[] | undefined {
  if (!hasTooManySplits(grant)) return grant.lmsSplits;
  throw new AppError(
    'option-malformed',
    'A key that redacts can have one LMS property in --lms-splits: several together can tell who a pseudonym is.',
  );
}

/** An empty list is none. */
function splitsOf({ lmsSplits = [] }: GrantOptions): readonly string[] | undefined {
  return lmsSplits.length === 0 ? undefined : lmsSplits;
}

function networksOf({ networks }: GrantOptions): readonly string[] | undefined {
  return networks === 'any' ? undefined : networks;
}

/** The default scope of users for a key with these boards. */
function usersOf(boards: Scope['boards']): Scope['users'] {
  return boards === 'all' ? 'all' : 'of-boards';
}
