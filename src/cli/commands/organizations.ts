/** `corkboard organizations`: creates, lists, shows, configures, renames and removes them. */
import { type Command, Option } from 'commander';
import { USER_POINTS_KEYS } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { readPolicy } from '../../points/policy.ts';
import type {
  OrganizationEntry,
  Period,
  PointsChanges,
  PublicationOptions,
  RuleChanges,
  Settings,
  Store,
} from '../../store/store.ts';
import { checkChange, publishChange, turnOf } from '../process/publish.ts';
import { withRenamedPulls } from '../process/pull-folder.ts';
import {
  requireFolder,
  type StorageOptions,
  withNewStore,
  withPlace,
  withStore,
} from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import {
  readIdentifier,
  readKeptEvents,
  readKeptVersions,
  readLine,
  readLongestLife,
  readNames,
  readSwitch,
} from '../terminal/options.ts';
import { type JsonOption, printResult, renderFields, renderJson, renderTable } from '../terminal/output.ts';
import { describePolicy } from '../terminal/policy-form.ts';
import { describeRules, ruleFields } from '../terminal/rules.ts';
import { readTextInput } from '../terminal/text-input.ts';
import { checkKinds, renderPointsChanges } from './policy-change.ts';
import { addRemoveCommand } from './remove.ts';

type SettingOptions = StorageOptions &
  JsonOption &
  Partial<Settings> & {
    readonly longestKeyLife?: number | 'none';
    readonly keepVersions?: RuleChanges;
    readonly keepEvents?: Period | 'none';
    readonly dryRun?: boolean;
    readonly yes?: boolean;
  };

const BY_NAME = new Intl.Collator('en', { numeric: true });
/** How long a command waits for an import or a different change of the same organization. */
const WAIT_MS = 60_000;

export function addOrganizationsCommands(program: Command): void {
  const organizations = program
    .command('organizations')
    .description('Create, list, show, configure, rename and remove organizations.');
  addExamples(organizations, ['corkboard organizations list', 'corkboard organizations show school']);
  addCreate(organizations);
  addList(organizations);
  addShow(organizations);
  addConfigure(organizations);
  addRename(organizations);
  addRemoveCommand(organizations);
}

function addCreate(organizations: Command): void {
  const create = organizations
    .command('create')
    .summary('Create an organization without data.')
    .description('Create an organization without data. An import also creates one, with default settings.')
    .argument('<name>', 'name on the command line, unique regardless of case')
    .option('--id <number>', 'id in the API (default: the next free id)', readIdentifier)
    .option('--title <text>', 'name in the API (default: the name)', readLine)
    .option('--domain <domain>', 'domain in the API (default: none)', readLine)
    .option('--category-id <number>', 'category id in the API (default: 0)', readIdentifier)
    .option('--json', 'print one JSON object')
    .action((name: string, _options: unknown, command: Command) =>
      createOrganization(name, command.optsWithGlobals()),
    );
  addExamples(create, [
    'corkboard organizations create school',
    'corkboard organizations create school --id 42 --title "School of Arts" --domain school.example.org',
  ]);
}

async function createOrganization(name: string, options: SettingOptions): Promise<void> {
  const settings = settingsIn(options);
  await withNewStore(options, async (store) => {
    const entry = await store.createOrganization(name, settings);
    const description = await describeOrganization(store, entry);
    printResult(
      options,
      description,
      () => `Created organization ${entry.name} with id ${entry.settings.id}.`,
    );
  });
}

function addList(organizations: Command): void {
  const list = organizations
    .command('list')
    .description('List the organizations.')
    .option('--json', 'print a JSON array')
    .action((_options: unknown, command: Command) => listOrganizations(command.optsWithGlobals()));
  addExamples(list, ['corkboard organizations list', 'corkboard organizations list --json']);
}

async function listOrganizations(options: StorageOptions & JsonOption): Promise<void> {
  const entries = await withStore(options, async (store) => {
    const names = (await store.organizations()).map(({ name }) => name);
    // A look-up of one entry refuses it if it is damaged.
    return await Promise.all(names.map((name) => store.organization(name)));
  });
  // Numbers as people order them: "org 7" before "org 10".
  entries.sort((one, other) => BY_NAME.compare(one.name, other.name));
  printResult(options, entries.map(describeEntry), () => renderOrganizations(entries));
}

function renderOrganizations(entries: readonly OrganizationEntry[]): string {
  if (entries.length === 0) return 'There are no organizations; "corkboard import" creates one.';
  const rows = entries.map(({ name, settings, version }) => [
    name,
    settings.id,
    settings.title,
    settings.domain,
    version ?? 'no data yet',
  ]);
  return renderTable(['NAME', 'ID', 'TITLE', 'DOMAIN', 'VERSION'], rows);
}

function addShow(organizations: Command): void {
  const show = organizations
    .command('show')
    .description('Show the counts, the version, the settings and the points policy of an organization.')
    .argument('<name>', 'name of the organization')
    .option('--json', 'print one JSON object')
    .action((name: string, _options: unknown, command: Command) =>
      showOrganization(name, command.optsWithGlobals()),
    );
  addExamples(show, ['corkboard organizations show school', 'corkboard organizations show school --json']);
}

async function showOrganization(name: string, options: StorageOptions & JsonOption): Promise<void> {
  await withStore(options, async (store) => printOrganization(store, name, options));
}

function addConfigure(organizations: Command): void {
  const configure = organizations
    .command('configure')
    .summary('Change settings of an organization.')
    .description(
      'Change settings of an organization. Settings are part of the data: a change is published as the next version. Not part of the data are --longest-key-life, which applies to keys that are created, rotated or given a new expiry from now on, and --keep-versions and --keep-events, which apply from the next publication on.',
    )
    .argument('<name>', 'name of the organization')
    .option(
      '--policy <file>',
      'file with the points policy (see docs/points.md); - reads standard input, default resets the policy',
    )
    .option('--course-lookup <on|off>', 'whether boards can be looked up by LMS course id', readSwitch)
    .option(
      '--lms-user-properties <names>',
      'LMS properties by which users can be looked up, like a,b; "" for none',
      readNames,
    )
    .addOption(
      new Option(
        '--user-points-key <form>',
        'names in the points map of a user: user-id ("12" for the first board, then "12:9" with the board id) or board-id ("9")',
      ).choices(USER_POINTS_KEYS),
    )
    .option('--title <text>', 'name in the API', readLine)
    .option('--domain <domain>', 'domain in the API', readLine)
    .option('--category-id <number>', 'category id in the API', readIdentifier)
    .option(
      '--longest-key-life <duration>',
      'longest time from the creation of a key to its end, like 365d or 12h; none for no limit',
      readLongestLife,
    )
    .option(
      '--keep-versions <count|duration>',
      'how many versions are kept, like 10, or for how long beside the last three, like 30d; default resets it to 3',
      readKeptVersions,
    )
    .option(
      '--keep-events <period>',
      'delete events that are older, like "24 months" or 400d, from the next publication on ("corkboard expire" publishes at once); none keeps all',
      readKeptEvents,
    )
    .option('--yes', 'take a policy with rules for kinds of events that are still to come')
    .option('--dry-run', 'check everything, change nothing, and show how the points would change')
    .option('--json', 'print one JSON object')
    .action((name: string, _options: unknown, command: Command) =>
      configureOrganization(name, command.optsWithGlobals()),
    );
  addExamples(configure, [
    'corkboard organizations configure school --policy policy.json --dry-run',
    'corkboard organizations configure school --policy policy.json',
    'corkboard organizations configure school --course-lookup on --lms-user-properties sis_id,login',
    'corkboard organizations configure school --user-points-key board-id',
    'corkboard organizations configure school --longest-key-life 365d',
    'corkboard organizations configure school --keep-versions 30d --keep-events "24 months"',
  ]);
}

const SETTINGS = [
  ...(['id', 'title', 'domain', 'categoryId', 'courseLookup', 'lmsUserProperties'] as const),
  ...(['userPointsKey', 'policy'] as const),
] as const satisfies readonly (keyof Settings)[];

/** The settings that were given, without the other options of the command. */
function settingsIn(options: SettingOptions): Partial<Settings> {
  const given = SETTINGS.filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name]]));
}

/** The rules that were given. */
function rulesIn({ longestKeyLife, keepVersions, keepEvents }: SettingOptions): RuleChanges {
  return {
    ...(longestKeyLife !== undefined && {
      longestKeyLifeMs: longestKeyLife === 'none' ? undefined : longestKeyLife,
    }),
    ...keepVersions,
    ...(keepEvents !== undefined && { keptEvents: keepEvents === 'none' ? undefined : keepEvents }),
  };
}

async function configureOrganization(name: string, options: SettingOptions): Promise<void> {
  const given = settingsIn(options);
  const changes =
    given.policy === undefined ? given : { ...given, policy: await readPolicyOption(given.policy) };
  const rules = rulesIn(options);
  const changesSettings = Object.keys(changes).length > 0;
  if (!changesSettings && Object.keys(rules).length === 0) {
    throw new AppError('option-malformed', 'There is nothing to change. --help lists the options.');
  }
  await withStore(options, async (store) => {
    if (changes.policy !== undefined) await checkKinds(store, name, changes.policy, options.yes === true);
    const cause = { command: 'organizations configure', settings: Object.keys(changes) };
    const turn = { ...turnOf(name, WAIT_MS), cause };
    if (options.dryRun === true) {
      const points = changesSettings ? await tryChanges(store, name, turn, changes) : undefined;
      return printTried(points, options);
    }
    if (changesSettings)
      await publishChange(store, name, turn, (publication) => publication.changeSettings(changes));
    if (Object.keys(rules).length > 0) await store.changeRules(name, rules);
    await printOrganization(store, name, options);
  });
}

/** Throws the errors of a publication, and `settings-refused`. Changes nothing. */
async function tryChanges(
  store: Store,
  name: string,
  turn: PublicationOptions,
  changes: Partial<Settings>,
): Promise<PointsChanges | undefined> {
  const publication = await store.beginPublication(name, turn);
  try {
    publication.changeSettings(changes);
    await checkChange(publication);
    return await publication.previewPoints();
  } finally {
    await publication.discard();
  }
}

function printTried(points: PointsChanges | undefined, options: JsonOption): void {
  printResult(options, { dryRun: true, points }, () => {
    const result = 'Everything is valid; nothing was changed (dry run).';
    return points === undefined ? result : `${renderPointsChanges(points)}\n\n${result}`;
  });
}

/** A valid policy; empty for the default policy. Throws `policy-malformed`, `file-unreadable`. */
async function readPolicyOption(value: string): Promise<string> {
  if (value === 'default') return '';
  const text = await readTextInput(value);
  if (text.trim() === '')
    throw new AppError('policy-malformed', 'The policy is empty. Use --policy default to reset it.');
  readPolicy(text);
  return text;
}

function addRename(organizations: Command): void {
  const rename = organizations
    .command('rename')
    .summary('Change the name of an organization on the command line.')
    .description(
      'Change the name of an organization on the command line. Its data, its title in the API, its secret and its keys stay the same, and running servers keep responding. Imports and pulls that run on a schedule must use the new name from then on: with the former one they create a new organization. If the command is interrupted, run it again.',
    )
    .argument('<name>', 'name of the organization')
    .argument('<new-name>', 'new name, unique regardless of case')
    .option('--json', 'print one JSON object')
    .action((name: string, newName: string, _options: unknown, command: Command) =>
      renameOrganization(name, newName, command.optsWithGlobals()),
    );
  addExamples(rename, ['corkboard organizations rename school college']);
}

async function renameOrganization(
  name: string,
  newName: string,
  options: StorageOptions & JsonOption,
): Promise<void> {
  const turn = turnOf(name, WAIT_MS);
  requireFolder(options);
  const renamed = await withRenamedPulls(options.data, name, newName, turn, (pulls) =>
    withPlace(options, true, ({ store, keys }) =>
      store.rename(name, newName, {
        ...turn,
        beforeRenaming: pulls.removeOther,
        renameKeys: (former, transaction) => keys.rename(former, newName, transaction),
        afterRenaming: pulls.rename,
      }),
    ),
  );
  printResult(options, { ...describeEntry(renamed), formerName: name }, () => {
    return `Renamed ${name} to ${renamed.name}.`;
  });
}

async function printOrganization(store: Store, name: string, options: JsonOption): Promise<void> {
  const entry = await store.organization(name);
  const description = await describeOrganization(store, entry);
  printResult(options, description, () => renderOrganization(entry, description));
}

function renderOrganization(
  { name, settings, version, rules }: OrganizationEntry,
  description: Description,
): string {
  const fields = renderFields([
    ['name', name],
    ['id', settings.id],
    ['title', settings.title],
    ['domain', settings.domain],
    ['category id', settings.categoryId],
    ['version', version ?? 'no data yet'],
    ['events', description.events],
    ['users', description.users],
    ['boards', description.boards],
    ['pins', description.pins],
    ['course lookup', settings.courseLookup ? 'on' : 'off'],
    ['LMS user properties', settings.lmsUserProperties.join(',')],
    ['user points key', settings.userPointsKey],
    ['derived ids', description.derivedIds],
    ...ruleFields(rules),
    ['points policy', settings.policy === '' ? 'default' : 'configured'],
  ]);
  return `${fields}\n${renderJson(description.policy)}`;
}

type Description = Awaited<ReturnType<typeof describeOrganization>>;

async function describeOrganization(store: Store, entry: OrganizationEntry) {
  const dataset = await store.openDataset(entry.name);
  const counts = dataset?.counts ?? { events: 0, users: 0, boards: 0, pins: 0 };
  await dataset?.close();
  const { courseLookup, lmsUserProperties, userPointsKey, policy } = entry.settings;
  return {
    ...describeEntry(entry),
    events: counts.events,
    users: counts.users,
    boards: counts.boards,
    pins: counts.pins,
    courseLookup,
    lmsUserProperties,
    userPointsKey,
    ...describeRules(entry.rules),
    policy: describePolicy(readPolicy(policy)),
  };
}

function describeEntry({ name, settings, version, derivedIds }: OrganizationEntry) {
  const { id, title, domain, categoryId } = settings;
  return { name, id, title, domain, categoryId, version, derivedIds };
}
