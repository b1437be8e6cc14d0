/** `corkboard organizations`: makes, lists, shows and configures organizations. */
import { type Command, Option } from 'commander';
import { AppError } from '../app-error.ts';
import { USER_POINTS_KEYS } from '../dataset/dataset.ts';
import type { OrganizationEntry, Settings, Store } from '../dataset/store.ts';
import { readPolicy } from '../points/policy.ts';
import { addExamples } from './examples.ts';
import { readIdentifier, readLine, readNames, readSwitch } from './options.ts';
import { type JsonOption, printResult, remark, renderFields, renderJson, renderTable } from './output.ts';
import { describePolicy } from './policy-form.ts';
import { type StorageOptions, withNewStore, withStore } from './storage.ts';
import { readTextInput } from './text-input.ts';

type SettingOptions = StorageOptions & JsonOption & Partial<Settings>;

/** How long a command waits for an import or another change of the same organization to end. */
const WAIT_MS = 60_000;

export function addOrganizationsCommands(program: Command): void {
  const organizations = program
    .command('organizations')
    .description('Make, list, show and configure organizations.');
  addExamples(organizations, ['corkboard organizations list', 'corkboard organizations show school']);
  addCreate(organizations);
  addList(organizations);
  addShow(organizations);
  addConfigure(organizations);
}

function addCreate(organizations: Command): void {
  const create = organizations
    .command('create')
    .description('Make an organization without data. An import makes one too, with the defaults.')
    .argument('<name>', 'its name on the command line, unique without regard to case')
    .option('--id <number>', 'id in the API (default: the next free one)', readIdentifier)
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
    printResult(options, description, () => `Organization ${entry.name} has the id ${entry.settings.id}.`);
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
  const entries = await withStore(options, (store) => store.organizations());
  printResult(options, entries.map(describeEntry), () => renderOrganizations(entries));
}

function renderOrganizations(entries: readonly OrganizationEntry[]): string {
  if (entries.length === 0) return 'There are no organizations; "corkboard import" makes one.';
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
    .description('Show the numbers, the version, the settings and the points policy of an organization.')
    .argument('<name>', 'its name')
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
    .description('Change settings. They are part of the data and are published as its next version.')
    .argument('<name>', 'its name')
    .option(
      '--policy <file>',
      'points policy (see docs/points.md); - reads standard input, default resets it',
    )
    .option('--course-lookup <on|off>', 'whether boards are found by LMS course id', readSwitch)
    .option(
      '--lms-user-properties <names>',
      'LMS properties that find users, like a,b; "" for none',
      readNames,
    )
    .addOption(
      new Option(
        '--user-points-key <form>',
        "names in a user's points map: user-id (the user's id, with :board after the first board) or board-id",
      ).choices(USER_POINTS_KEYS),
    )
    .option('--title <text>', 'name in the API', readLine)
    .option('--domain <domain>', 'domain in the API', readLine)
    .option('--category-id <number>', 'category id in the API', readIdentifier)
    .option('--json', 'print one JSON object')
    .action((name: string, _options: unknown, command: Command) =>
      configureOrganization(name, command.optsWithGlobals()),
    );
  addExamples(configure, [
    'corkboard organizations configure school --policy policy.json',
    'corkboard organizations configure school --course-lookup on --lms-user-properties sis_id,login',
    'corkboard organizations configure school --user-points-key board-id',
  ]);
}

const SETTINGS = [
  ...(['id', 'title', 'domain', 'categoryId', 'courseLookup', 'lmsUserProperties'] as const),
  ...(['userPointsKey', 'policy'] as const),
] as const satisfies readonly (keyof Settings)[];

/** What was given of an organization, without the options of the command. */
function settingsIn(options: SettingOptions): Partial<Settings> {
  const given = SETTINGS.filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name]]));
}

async function configureOrganization(name: string, options: SettingOptions): Promise<void> {
  const given = settingsIn(options);
  const changes =
    given.policy === undefined ? given : { ...given, policy: await readPolicyOption(given.policy) };
  if (Object.keys(changes).length === 0) {
    throw new AppError('option-malformed', 'There is nothing to change; --help shows what can be given.');
  }
  await withStore(options, async (store) => {
    await publishSettings(store, name, changes);
    await printOrganization(store, name, options);
  });
}

/** The text of a policy that holds; empty for the default policy. Throws `policy-malformed`, `file-unreadable`. */
async function readPolicyOption(value: string): Promise<string> {
  if (value === 'default') return '';
  const text = await readTextInput(value);
  if (text.trim() === '') throw new AppError('policy-malformed', 'The policy is empty; "default" resets it.');
  readPolicy(text);
  return text;
}

async function publishSettings(store: Store, name: string, changes: Partial<Settings>): Promise<void> {
  const publication = await store.beginPublication(name, {
    waitMs: WAIT_MS,
    onWait: () => remark(`Waiting for another change of ${name} to end.`),
  });
  try {
    publication.changeSettings(changes);
    await publication.check(({ field, reason }) => {
      throw new AppError('settings-refused', `${field}: ${reason}.`);
    });
    await publication.publish();
  } finally {
    await publication.discard();
  }
}

async function printOrganization(store: Store, name: string, options: JsonOption): Promise<void> {
  const entry = await store.organization(name);
  const description = await describeOrganization(store, entry);
  printResult(options, description, () => renderOrganization(entry, description));
}

function renderOrganization(
  { name, settings, version }: OrganizationEntry,
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
    ['course look-up', settings.courseLookup ? 'on' : 'off'],
    ['LMS user properties', settings.lmsUserProperties.join(',')],
    ['user points key', settings.userPointsKey],
    ['derived ids', description.derivedIds],
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
    policy: describePolicy(readPolicy(policy)),
  };
}

function describeEntry({ name, settings, version, derivedIds }: OrganizationEntry) {
  const { id, title, domain, categoryId } = settings;
  return { name, id, title, domain, categoryId, version, derivedIds };
}
