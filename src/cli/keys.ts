/** `corkboard keys`: makes, lists, changes, rotates and revokes API keys (decisions 21, 68). */
import { type Command, Option } from 'commander';
import { AppError } from '../app-error.ts';
import { NO_REDACTION, type Redaction } from '../dataset/redaction.ts';
import type { Scope } from '../dataset/scope.ts';
import type { Expiry, KeyChanges, KeyEntry, Keyring, RateLimit } from '../keys/keyring.ts';
import { addExamples } from './examples.ts';
import { keepRoom, withReserve } from './full-disk.ts';
import { describeKey, printNewKey, renderKey, renderKeys } from './key-description.ts';
import {
  readBoards,
  readDuration,
  readExpiry,
  readLine,
  readRateLimit,
  readRateLimitOrDefault,
  readRedaction,
  readUsers,
} from './options.ts';
import { type JsonOption, printResult, remark, renderInstant } from './output.ts';
import { type StorageOptions, withKeyring, withStore } from './storage.ts';

interface SelectOptions extends StorageOptions, JsonOption {
  readonly organization?: string;
}

/** What a key grants, as options. */
interface GrantOptions {
  readonly boards?: Scope['boards'];
  readonly users?: Scope['users'];
  readonly redact?: Redaction;
  readonly allowLmsLookup?: boolean;
  readonly expires?: Expiry;
  readonly label?: string;
}

interface CreateOptions extends StorageOptions, JsonOption, GrantOptions {
  readonly organization: string;
  readonly rateLimit?: RateLimit;
}

interface ConfigureOptions extends SelectOptions, GrantOptions {
  readonly rateLimit?: RateLimit | 'default';
}

interface RotateOptions extends SelectOptions {
  readonly overlap: number;
  readonly expires?: Expiry;
}

/** Options of `keys configure` that change something. */
const CONFIGURABLE = [
  'boards',
  'users',
  'redact',
  'allowLmsLookup',
  'expires',
  'label',
  'rateLimit',
] as const satisfies readonly (keyof ConfigureOptions)[];

const WEEK_MS = 7 * 86_400_000;

const readExpiryFromNow = (text: string) => readExpiry(text, Date.now());

export function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('Make, list, change, rotate and revoke API keys.');
  addExamples(keys, ['corkboard keys create --organization school', 'corkboard keys list']);
  addCreate(keys);
  addList(keys);
  addConfigure(keys);
  addRotate(keys);
  addRevoke(keys);
}

function addCreate(keys: Command): void {
  const create = keys
    .command('create')
    .description(
      'Make a key and print it, this once: only a digest of it is kept. Without --boards and --users it sees everything of its organization.',
    )
    .requiredOption('--organization <name>', 'the organization whose data the key opens')
    .option('--boards <ids>', 'only these boards, like 1,2; "" sees nothing (default: all)', readBoards)
    .option(
      '--users <ids>',
      'only these users, like 3,4; of-boards: the people on the visible boards; all (default: of-boards with --boards, else all)',
      readUsers,
    )
    .option(
      '--redact <fields>',
      'put stable pseudonyms for what is named of email, name and id, as in email,name,id; with id, addresses go as well',
      readRedaction,
    )
    .option(
      '--allow-lms-lookup',
      'let the key look up people by LMS properties although it redacts; without it /lms_user is refused',
    )
    .option(
      '--expires <when>',
      'after 30d, 12h, 15m or 45s; at the end of a day in UTC, 2027-01-31; or at an instant, 2027-01-31T17:00:00+01:00 (default: never)',
      readExpiryFromNow,
    )
    .option('--label <text>', 'what the key is for, shown in the list', readLine)
    .option('--rate-limit <n/unit>', 'at most 10/second, 100/minute, 5000/hour or the like', readRateLimit)
    .option('--json', 'print one JSON object')
    .action((_options: unknown, command: Command) => createKey(command.optsWithGlobals()));
  addExamples(create, [
    'corkboard keys create --organization school --label "data warehouse"',
    'corkboard keys create --organization school --boards 1,2 --expires 90d',
    'corkboard keys create --organization school --redact email,name --rate-limit 100/minute --json',
  ]);
}

async function createKey(options: CreateOptions): Promise<void> {
  const { name } = await withStore(options, (store) => store.organization(options.organization));
  const boards = options.boards ?? 'all';
  const created = await withKeyring(options, (keyring) =>
    keyring.create(
      {
        organization: name,
        label: options.label ?? '',
        scope: { boards, users: options.users ?? usersOf(boards) },
        redact: options.redact ?? NO_REDACTION,
        allowLmsLookup: options.allowLmsLookup,
        rateLimit: options.rateLimit,
      },
      options.expires === 'never' ? undefined : options.expires,
    ),
  );
  keepRoom(options);
  warnOfPast(created.entry);
  printNewKey(created, options);
}

/** Whom a key sees that was made for these boards, unless it is said. */
function usersOf(boards: Scope['boards']): Scope['users'] {
  return boards === 'all' ? 'all' : 'of-boards';
}

function warnOfPast({ expiresMs = Infinity }: KeyEntry): void {
  if (expiresMs > Date.now()) return;
  remark('corkboard: The expiry lies in the past, so the key is refused.');
}

function addList(keys: Command): void {
  const list = keys
    .command('list')
    .description('List the keys with what they see, their status (active, expired, revoked) and last use.')
    .option('--organization <name>', 'only the keys of this organization')
    .option('--json', 'print a JSON array')
    .action((_options: unknown, command: Command) => listKeys(command.optsWithGlobals()));
  addExamples(list, ['corkboard keys list', 'corkboard keys list --organization school --json']);
}

async function listKeys(options: SelectOptions): Promise<void> {
  const name = await organizationName(options);
  const entries = await withKeyring(options, (keyring) => keyring.list(name));
  printResult(options, entries.map(describeKey), () => renderKeys(entries));
}

function addConfigure(keys: Command): void {
  const configure = keys
    .command('configure')
    .description(
      'Change what an existing key sees and may do, without a new key. What is not given stays. Running servers apply it to the next request, and end long responses and live streams of a key that sees something else now.',
    )
    .argument('<id>', 'id of the key, from "corkboard keys list"')
    .option(
      '--boards <ids>',
      'only these boards, like 1,2; "" sees nothing; all. Without --users, a key that has no list of users then sees those that "keys create" would give it',
      readBoards,
    )
    .option(
      '--users <ids>',
      'only these users, like 3,4; of-boards: the people on the visible boards; all',
      readUsers,
    )
    .option(
      '--redact <fields>',
      'all that is redacted from now on of email, name and id, as in email,name,id; none',
      readRedaction,
    )
    .option('--allow-lms-lookup', 'let the key look up people by LMS properties although it redacts')
    .option('--no-allow-lms-lookup', 'refuse this to the key while it redacts')
    .option(
      '--expires <when>',
      'after 30d, 12h, 15m or 45s from now; at the end of a day in UTC, 2027-01-31; at an instant, 2027-01-31T17:00:00+01:00; never',
      readExpiryFromNow,
    )
    .option('--label <text>', 'what the key is for, shown in the list', readLine)
    .option(
      '--rate-limit <n/unit>',
      'at most 10/second, 100/minute, 5000/hour or the like; default: that of the server',
      readRateLimitOrDefault,
    )
    .option('--organization <name>', 'refuse unless the key belongs to this organization')
    .option('--json', 'print one JSON object')
    .action((id: string, _options: unknown, command: Command) => configureKey(id, command.optsWithGlobals()));
  addExamples(configure, [
    'corkboard keys configure abcdefghijkl --boards 1,2 --expires 90d',
    'corkboard keys configure abcdefghijkl --boards all --users all --redact none',
    'corkboard keys configure abcdefghijkl --rate-limit 100/minute --label dashboard --json',
  ]);
}

async function configureKey(id: string, options: ConfigureOptions): Promise<void> {
  if (!CONFIGURABLE.some((name) => options[name] !== undefined)) {
    throw new AppError('option-malformed', 'There is nothing to change; --help shows what can be given.');
  }
  const name = await organizationName(options);
  const entry = await withKeyring(options, async (keyring) => {
    await requireOwner(keyring, id, name);
    return keyring.configure(id, ({ scope }) => changesOf(options, scope));
  });
  keepRoom(options);
  warnOfPast(entry);
  printResult(options, describeKey(entry), () => renderKey(entry));
}

function changesOf(options: ConfigureOptions, { boards, users }: Scope): KeyChanges {
  const { label, redact, allowLmsLookup, rateLimit, expires } = options;
  const fallback =
    options.boards === undefined || typeof users !== 'string' ? users : usersOf(options.boards);
  return {
    scope: { boards: options.boards ?? boards, users: options.users ?? fallback },
    ...(label !== undefined && { label }),
    ...(redact !== undefined && { redact }),
    ...(allowLmsLookup !== undefined && { allowLmsLookup }),
    ...(rateLimit !== undefined && { rateLimit: rateLimit === 'default' ? undefined : rateLimit }),
    expiry: expires,
  };
}

function addRotate(keys: Command): void {
  const rotate = keys
    .command('rotate')
    .description(
      'Make a key that grants the same as another and let the old one end after an overlap. An expired key can be rotated, a revoked one cannot.',
    )
    .argument('<id>', 'id of the old key, from "corkboard keys list"')
    .addOption(
      new Option('--overlap <duration>', 'how long both keys work: 7d, 12h, 15m, 45s or 0s')
        .argParser(readDuration)
        .default(WEEK_MS, '7d'),
    )
    .option(
      '--expires <when>',
      'end of the new key, as for "keys create", or never (default: as long from now as the old key was made for)',
      readExpiryFromNow,
    )
    .option('--organization <name>', 'refuse unless the key belongs to this organization')
    .option('--json', 'print one JSON object')
    .action((id: string, _options: unknown, command: Command) => rotateKey(id, command.optsWithGlobals()));
  addExamples(rotate, [
    'corkboard keys rotate abcdefghijkl --overlap 7d',
    'corkboard keys rotate abcdefghijkl --expires 365d',
  ]);
}

async function rotateKey(id: string, options: RotateOptions): Promise<void> {
  const name = await organizationName(options);
  const rotated = await withKeyring(options, async (keyring) => {
    await requireOwner(keyring, id, name);
    return keyring.rotate(id, options.overlap, options.expires);
  });
  warnOfPast(rotated.entry);
  printNewKey(rotated, options);
}

function addRevoke(keys: Command): void {
  const revoke = keys
    .command('revoke')
    .description('Refuse a key from now on, also in servers that are running.')
    .argument('<id>', 'id of the key, from "corkboard keys list"')
    .option('--organization <name>', 'refuse unless the key belongs to this organization')
    .option('--json', 'print one JSON object')
    .action((id: string, _options: unknown, command: Command) => revokeKey(id, command.optsWithGlobals()));
  addExamples(revoke, ['corkboard keys revoke abcdefghijkl']);
}

async function revokeKey(id: string, options: SelectOptions): Promise<void> {
  const entry = await withReserve(options, async () => {
    const name = await organizationName(options);
    return await withKeyring(options, async (keyring) => {
      await requireOwner(keyring, id, name);
      return keyring.revoke(id);
    });
  });
  printResult(
    options,
    describeKey(entry),
    () => `Key ${entry.id} is revoked since ${renderInstant(entry.revokedMs)}.`,
  );
}

/** The name as the store writes it; absent when none is given. Throws `organization-unknown`. */
async function organizationName(options: SelectOptions): Promise<string | undefined> {
  const wanted = options.organization;
  if (wanted === undefined) return undefined;
  return withStore(options, async (store) => (await store.organization(wanted)).name);
}

async function requireOwner(keyring: Keyring, id: string, organization: string | undefined): Promise<void> {
  if (organization === undefined) return;
  const entries = await keyring.list(organization);
  if (entries.some((entry) => entry.id === id)) return;
  throw new AppError(
    'key-id-unknown',
    `Organization ${organization} has no key with this id; "corkboard keys list --organization ${organization}" shows its keys.`,
  );
}
