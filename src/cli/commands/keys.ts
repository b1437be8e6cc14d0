/**
 * `corkboard keys`: creates, lists, shows, changes, rotates and revokes API keys (decisions 21, 68,
 * 84).
 */
import { type Command, Option } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import { checkExpiry, type LongestLife } from '../../keys/key-life.ts';
import { EXPIRES_SOON_DAYS, UNUSED_DAYS, warningsOf } from '../../keys/key-warnings.ts';
import type { Expiry, KeyEntry, Keyring, NewKey, RateLimit } from '../../keys/keyring.ts';
import { refuseRemoved } from '../../store/organization-name.ts';
import type { Store } from '../../store/store.ts';
import { keepRoom, withReserve } from '../process/full-disk.ts';
import { withIds } from '../process/named-records.ts';
import { chooseOrganization, organizationOption } from '../process/organization-choice.ts';
import { type StorageOptions, withKeyring, withStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import {
  describeKey,
  type ListedKey,
  printNewKey,
  renderKey,
  renderKeys,
  renderWholeKey,
} from '../terminal/key-description.ts';
import { changesOf, type GrantChanges, type GrantOptions, grantOf } from '../terminal/key-grants.ts';
import {
  readBoards,
  readDuration,
  readExpiry,
  readLine,
  readLmsSplits,
  readNetworks,
  readRateLimit,
  readRateLimitOrDefault,
  readRedaction,
  readUsers,
} from '../terminal/options.ts';
import { type JsonOption, printResult, remark, renderInstant } from '../terminal/output.ts';

interface SelectOptions extends StorageOptions, JsonOption {
  readonly organization?: string;
}

interface CreateOptions extends StorageOptions, JsonOption, GrantOptions {
  readonly organization: string;
  readonly rateLimit?: RateLimit;
}

interface ConfigureOptions extends SelectOptions, GrantChanges {}

interface RotateOptions extends SelectOptions {
  readonly overlap: number;
  readonly expires?: Expiry;
}

const SPLITS_HELP =
  'LMS properties by which the key may split activity, like cohort,campus, and so find out who has which of the values that ten or more visible users with events have';

/** Options of `keys configure` that change something. */
const CONFIGURABLE = [
  'boards',
  'users',
  'redact',
  'allowLmsLookup',
  'lmsSplits',
  'networks',
  'expires',
  'label',
  'rateLimit',
] as const satisfies readonly (keyof ConfigureOptions)[];

const ABOUT_WARNINGS = `Active keys have warnings: "expires soon" if they expire within ${EXPIRES_SOON_DAYS} days, "unused" if they were not used for ${UNUSED_DAYS} days, and "lives too long" if they exceed the longest life that their organization permits.`;

const WEEK_MS = 7 * 86_400_000;

const readExpiryFromNow = (text: string) => readExpiry(text, Date.now());

export function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('Create, list, show, change, rotate and revoke API keys.');
  addExamples(keys, ['corkboard keys create --organization school', 'corkboard keys list']);
  addCreate(keys);
  addList(keys);
  addShow(keys);
  addConfigure(keys);
  addRotate(keys);
  addRevoke(keys);
}

function addCreate(keys: Command): void {
  const create = keys
    .command('create')
    .summary('Create a key and print it.')
    .description(
      'Create a key and print it. The key cannot be printed again, because only its digest is stored. Without --boards and --users it can see all data of its organization.',
    )
    .addOption(organizationOption('organization whose data the key can see'))
    .option(
      '--boards <boards>',
      'only these boards: ids, titles or LTI ids, like 1,2; "" for none (default: all)',
      readBoards,
    )
    .option(
      '--users <users>',
      'only these users: ids or addresses, like 3,4; of-boards for the users on the visible boards; or all (default: of-boards with --boards, otherwise all)',
      readUsers,
    )
    .option(
      '--redact <fields>',
      'replace these fields of users with stable pseudonyms: any of email, name and id, like email,name; id includes email',
      readRedaction,
    )
    .option(
      '--allow-lms-lookup',
      'allow lookups of users by LMS properties (/lms_user), which are otherwise refused to a key with --redact; without --redact, LMS ids in gradebooks',
    )
    .option('--lms-splits <names>', `${SPLITS_HELP}; one with --redact (default: none)`, readLmsSplits)
    .option(
      '--networks <addresses>',
      'refuse the key outside these networks: comma-separated addresses or networks, like 10.0.0.0/8,2001:db8::/32 (default: any)',
      readNetworks,
    )
    .option(
      '--expires <when>',
      'expiry: after a duration like 30d, 12h, 15m or 45s; at the end of a day in UTC, like 2027-01-31; or at an instant, like 2027-01-31T17:00:00+01:00 (default: never, or the longest life that the organization permits)',
      readExpiryFromNow,
    )
    .option('--label <text>', 'purpose of the key, shown in the list', readLine)
    .option(
      '--rate-limit <n/unit>',
      'rate limit, like 10/second, 100/minute or 5000/hour (default: the limit of the server)',
      readRateLimit,
    )
    .option('--json', 'print one JSON object')
    .action(async (_options: unknown, command: Command) =>
      createKey(await withIds(await chooseOrganization(command.optsWithGlobals()))),
    );
  addExamples(create, [
    'corkboard keys create --organization school --label "data warehouse"',
    'corkboard keys create --organization school --boards 1,2 --expires 90d',
    'corkboard keys create --organization school --boards "Chemistry,Biology I"',
    'corkboard keys create --organization school --redact email,name --rate-limit 100/minute --json',
    'corkboard keys create --organization school --networks 10.0.0.0/8,2001:db8::/32',
    'corkboard keys create --organization school --lms-splits cohort,campus',
  ]);
}

async function createKey(options: CreateOptions): Promise<void> {
  const created = await withStore(options, (store) =>
    withKeyring(options, (keyring) => createKeyIn(store, keyring, options)),
  );
  keepRoom(options);
  warnOfPast(created.entry);
  printNewKey(created, options);
}

async function createKeyIn(store: Store, keyring: Keyring, options: CreateOptions): Promise<NewKey> {
  const entry = await store.organization(options.organization);
  refuseRemoved(entry);
  const { name, rules } = entry;
  const created = await keyring.create(
    { ...grantOf(options), organization: name, rateLimit: options.rateLimit },
    options.expires,
    rules.longestKeyLifeMs,
  );
  // The key would belong to the next organization of the former name.
  if (await hasName(store, name)) return created;
  await keyring.revoke(created.entry.id);
  throw new AppError(
    'organization-unknown',
    `${name} was renamed or removed at the same time, so the key has been revoked. List the organizations with "corkboard organizations list".`,
  );
}

async function hasName(store: Store, name: string): Promise<boolean> {
  return (await store.organizations()).some((one) => one.name === name);
}

function warnOfPast({ expiresMs = Infinity }: KeyEntry): void {
  if (expiresMs > Date.now()) return;
  remark('corkboard: The expiry is in the past, so the key is refused.');
}

function addList(keys: Command): void {
  const list = keys
    .command('list')
    .summary('List the keys.')
    .description(
      `List the keys with their scope, status (active, expired, revoked), warnings and last use. ${ABOUT_WARNINGS}`,
    )
    .option('-o, --organization <name>', 'only the keys of this organization')
    .option('--json', 'print a JSON array')
    .action((_options: unknown, command: Command) => listKeys(command.optsWithGlobals()));
  addExamples(list, ['corkboard keys list', 'corkboard keys list --organization school --json']);
}

async function listKeys(options: SelectOptions): Promise<void> {
  const name = await organizationName(options);
  const entries = await withKeyring(options, (keyring) => keyring.list(name));
  const lives = await longestLives(options);
  const keys = entries.map((entry) => listedKey(entry, lives));
  printResult(
    options,
    keys.map(({ entry, warnings }) => ({ ...describeKey(entry), warnings })),
    () => renderKeys(keys),
  );
}

function addShow(keys: Command): void {
  const show = keys
    .command('show')
    .summary('Show everything about a key.')
    .description(
      `Show everything about a key except the key itself: what it grants, its dates, the keys that it replaced and that replaced it, and warnings. ${ABOUT_WARNINGS}`,
    )
    .argument('<id>', 'id of the key, from "corkboard keys list"')
    .option('-o, --organization <name>', 'fail unless the key belongs to this organization')
    .option('--json', 'print one JSON object')
    .action((id: string, _options: unknown, command: Command) => showKey(id, command.optsWithGlobals()));
  addExamples(show, ['corkboard keys show abcdefghijkl', 'corkboard keys show abcdefghijkl --json']);
}

async function showKey(id: string, options: SelectOptions): Promise<void> {
  const name = await organizationName(options);
  const [entry, others] = await withKeyring(options, async (keyring) => {
    await requireOwner(keyring, id, name);
    const shown = await keyring.entry(id);
    return [shown, await keyring.list(shown.organization)] as const;
  });
  const predecessor = others.find(({ rotatedTo }) => rotatedTo === id)?.id;
  const key = listedKey(entry, await longestLives(options));
  const description = { ...describeKey(entry), rotatedFrom: predecessor, warnings: key.warnings };
  printResult(options, description, () => renderWholeKey(key, predecessor));
}

function listedKey(entry: KeyEntry, lives: ReadonlyMap<string, LongestLife>): ListedKey {
  return { entry, warnings: warningsOf(entry, Date.now(), lives.get(entry.organization)) };
}

/**
 * The longest life of keys of each organization. A catalog that cannot be read must not hide the
 * keys: the list shows which ones to revoke.
 */
async function longestLives(options: SelectOptions): Promise<ReadonlyMap<string, LongestLife>> {
  try {
    const entries = await withStore(options, (store) => store.organizations());
    return new Map(entries.map(({ name, rules }) => [name, rules.longestKeyLifeMs]));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    remark(`corkboard: Keys that live too long are not marked. ${error.message}`);
    return new Map();
  }
}

function addConfigure(keys: Command): void {
  const configure = keys
    .command('configure')
    .summary('Change the scope and the permissions of a key.')
    .description(
      'Change the scope and the permissions of an existing key; the key itself stays the same. Settings whose option is not given stay unchanged. Running servers apply the change to the next request. If the key then sees something different, or may no longer be used from the network of a client, they cut its large responses in progress and end its live streams.',
    )
    .argument('<id>', 'id of the key, from "corkboard keys list"')
    .option(
      '--boards <boards>',
      'only these boards: ids, titles or LTI ids, like 1,2; "" for none; or all. Without --users, this also sets the users as "keys create" does, unless the key has a list of users',
      readBoards,
    )
    .option(
      '--users <users>',
      'only these users: ids or addresses, like 3,4; of-boards for the users on the visible boards; or all',
      readUsers,
    )
    .option(
      '--redact <fields>',
      'fields of users to redact from now on: any of email, name and id, like email,name; or none, which also withdraws the permission --allow-lms-lookup of a key that redacts; with fewer fields than before, --lms-splits is withdrawn',
      readRedaction,
    )
    .option(
      '--allow-lms-lookup',
      'allow lookups of users by LMS properties although the key redacts; if it does not redact, LMS ids in gradebooks',
    )
    .option('--no-allow-lms-lookup', 'refuse such lookups while the key redacts, and LMS ids in gradebooks')
    .option('--lms-splits <names>', `${SPLITS_HELP}; one if the key redacts; "" for none`, readLmsSplits)
    .option(
      '--networks <addresses>',
      'refuse the key outside these networks: comma-separated addresses or networks, like 10.0.0.0/8,2001:db8::/32; or any',
      readNetworks,
    )
    .option(
      '--expires <when>',
      'expiry: after a duration like 30d, 12h, 15m or 45s; at the end of a day in UTC, like 2027-01-31; at an instant, like 2027-01-31T17:00:00+01:00; or never',
      readExpiryFromNow,
    )
    .option('--label <text>', 'purpose of the key, shown in the list', readLine)
    .option(
      '--rate-limit <n/unit>',
      'rate limit, like 10/second, 100/minute or 5000/hour; default for the limit of the server',
      readRateLimitOrDefault,
    )
    .option('-o, --organization <name>', 'fail unless the key belongs to this organization')
    .option('--json', 'print one JSON object')
    .action((id: string, _options: unknown, command: Command) => configureKey(id, command.optsWithGlobals()));
  addExamples(configure, [
    'corkboard keys configure abcdefghijkl --boards 1,2 --expires 90d',
    'corkboard keys configure abcdefghijkl --boards all --users all --redact none',
    'corkboard keys configure abcdefghijkl --rate-limit 100/minute --label dashboard --json',
    'corkboard keys configure abcdefghijkl --networks 192.0.2.0/24',
  ]);
}

async function configureKey(id: string, options: ConfigureOptions): Promise<void> {
  if (!CONFIGURABLE.some((name) => options[name] !== undefined)) {
    throw new AppError('option-malformed', 'There is nothing to change. --help lists the options.');
  }
  const name = await organizationName(options);
  const entry = await withKeyring(options, async (keyring) => {
    await requireOwner(keyring, id, name);
    const { organization } = await keyring.entry(id);
    const changes = await withIds({ ...options, organization });
    const longestMs =
      options.expires === undefined ? undefined : await longestLifeOf(await keyring.entry(id), options);
    return keyring.configure(id, (entry) => {
      if (options.expires !== undefined) checkExpiry(entry, options.expires, longestMs);
      return changesOf(changes, entry);
    });
  });
  keepRoom(options);
  warnOfPast(entry);
  printResult(options, describeKey(entry), () => renderKey(entry));
}

async function longestLifeOf({ organization }: KeyEntry, options: SelectOptions): Promise<LongestLife> {
  return await withStore(
    options,
    async (store) => (await store.organization(organization)).rules.longestKeyLifeMs,
  );
}

function addRotate(keys: Command): void {
  const rotate = keys
    .command('rotate')
    .summary('Replace a key with a new one.')
    .description(
      'Create a new key with the same scope and permissions as an existing key, and let the old key expire after an overlap. An expired key can be rotated; a revoked key cannot.',
    )
    .argument('<id>', 'id of the old key, from "corkboard keys list"')
    .addOption(
      new Option('--overlap <duration>', 'how long both keys work, like 7d, 12h, 15m, 45s or 0s')
        .argParser(readDuration)
        .default(WEEK_MS, '7d'),
    )
    .option(
      '--expires <when>',
      'expiry of the new key, as for "keys create", or never (default: the same lifetime as the old key, from now, or the longest life that the organization permits)',
      readExpiryFromNow,
    )
    .option('-o, --organization <name>', 'fail unless the key belongs to this organization')
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
    const longestMs = await longestLifeOf(await keyring.entry(id), options);
    return keyring.rotate(id, options.overlap, options.expires, longestMs);
  });
  warnOfPast(rotated.entry);
  printNewKey(rotated, options);
}

function addRevoke(keys: Command): void {
  const revoke = keys
    .command('revoke')
    .description('Refuse a key from now on, also on running servers.')
    .argument('<id>', 'id of the key, from "corkboard keys list"')
    .option('-o, --organization <name>', 'fail unless the key belongs to this organization')
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
    () => `Key ${entry.id} was revoked at ${renderInstant(entry.revokedMs)}.`,
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
    `Organization ${organization} has no key with this id. "corkboard keys list --organization ${organization}" lists its keys.`,
  );
}
