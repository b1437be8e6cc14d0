/** `corkboard keys`: makes, lists, rotates and revokes API keys (decision 21). */
import { type Command, Option } from 'commander';
import { AppError } from '../app-error.ts';
import { NO_REDACTION, type Redaction } from '../dataset/redaction.ts';
import type { Scope } from '../dataset/scope.ts';
import type { Keyring, RateLimit } from '../keys/keyring.ts';
import { addExamples } from './examples.ts';
import { keepRoom, withReserve } from './full-disk.ts';
import { describeKey, printNewKey, renderKeys } from './key-description.ts';
import {
  readBoards,
  readDuration,
  readExpiry,
  readLine,
  readRateLimit,
  readRedaction,
  readUsers,
} from './options.ts';
import { type JsonOption, printResult, remark, renderInstant } from './output.ts';
import { type StorageOptions, withKeyring, withStore } from './storage.ts';

interface CreateOptions extends StorageOptions, JsonOption {
  readonly organization: string;
  readonly boards?: Scope['boards'];
  readonly users?: Scope['users'];
  readonly redact?: Redaction;
  readonly allowLmsLookup?: boolean;
  readonly expires?: number;
  readonly label?: string;
  readonly rateLimit?: RateLimit;
}

interface SelectOptions extends StorageOptions, JsonOption {
  readonly organization?: string;
}

interface RotateOptions extends SelectOptions {
  readonly overlap: number;
}

const WEEK_MS = 7 * 86_400_000;

export function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('Make, list, rotate and revoke API keys.');
  addExamples(keys, ['corkboard keys create --organization school', 'corkboard keys list']);
  addCreate(keys);
  addList(keys);
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
      (text) => readExpiry(text, Date.now()),
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
  if (options.expires !== undefined && options.expires <= Date.now()) {
    remark('corkboard: The expiry lies in the past, so the key is refused from the start.');
  }
  const boards = options.boards ?? 'all';
  const created = await withKeyring(options, (keyring) =>
    keyring.create(
      {
        organization: name,
        label: options.label ?? '',
        scope: { boards, users: options.users ?? (boards === 'all' ? 'all' : 'of-boards') },
        redact: options.redact ?? NO_REDACTION,
        allowLmsLookup: options.allowLmsLookup,
        rateLimit: options.rateLimit,
      },
      options.expires,
    ),
  );
  keepRoom(options);
  printNewKey(created, options);
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

function addRotate(keys: Command): void {
  const rotate = keys
    .command('rotate')
    .description('Make a key that grants the same as another and let the old one end after an overlap.')
    .argument('<id>', 'id of the old key, from "corkboard keys list"')
    .addOption(
      new Option('--overlap <duration>', 'how long both keys work: 7d, 12h, 15m, 45s or 0s')
        .argParser(readDuration)
        .default(WEEK_MS, '7d'),
    )
    .option('--organization <name>', 'refuse unless the key belongs to this organization')
    .option('--json', 'print one JSON object')
    .action((id: string, _options: unknown, command: Command) => rotateKey(id, command.optsWithGlobals()));
  addExamples(rotate, ['corkboard keys rotate abcdefghijkl --overlap 7d']);
}

async function rotateKey(id: string, options: RotateOptions): Promise<void> {
  const name = await organizationName(options);
  const rotated = await withKeyring(options, async (keyring) => {
    await requireOwner(keyring, id, name);
    return keyring.rotate(id, options.overlap);
  });
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
