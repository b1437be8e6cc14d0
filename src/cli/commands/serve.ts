/** `corkboard serve`: serves the API, in one process or several, until a signal stops it. */
import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import type { RateLimit } from '../../keys/keyring.ts';
import type { AdminServer } from '../../server/admin.ts';
import { LIMIT_NAMES, LIMITS, type Limits, renderDefault } from '../../server/limits/limits.ts';
import type { RunningServer, ServerOptions } from '../../server/start.ts';
import {
  type AuditFolderOption,
  auditFolderOption,
  isReadOnlyPlace,
  requireAccessFolder,
} from '../process/audit.ts';
import { keepRoom } from '../process/full-disk.ts';
import { openSharedLog } from '../process/shared-log.ts';
import {
  keepResident,
  type ResidentOption,
  type StorageOptions,
  withKeyring,
  withNewStore,
} from '../process/storage.ts';
import { runAsWorker } from '../process/worker.ts';
import { addExamples } from '../terminal/examples.ts';
import {
  readLimits,
  readOrigins,
  readPort,
  readProxies,
  readRateLimit,
  readSize,
  readSwitch,
  readWorkers,
} from '../terminal/options.ts';
import { print, remark } from '../terminal/output.ts';
import { setting } from '../terminal/setting.ts';

export interface ListenOptions extends StorageOptions, ResidentOption {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  /** Absent: there is no admin address. */
  readonly adminPort?: number;
  readonly versionHeader: boolean;
  readonly logLevel: ServerOptions['logLevel'];
}

interface ServeOptions extends ListenOptions, AuditFolderOption {
  readonly databaseRead?: string;
  readonly zoneData?: string;
  readonly workers: number;
  readonly variant: 'a' | 'b';
  readonly rateLimit?: RateLimit;
  readonly limit?: Partial<Limits>;
  readonly corsOrigin?: readonly string[];
  readonly trustProxy?: readonly string[];
  readonly metricsOrganizations?: boolean;
  readonly auditAccess?: boolean;
}

/** How long a request waits for data from the shared store before the client must try again. */
const PATIENCE_MS = 8_000;
const READ_ONLY =
  'corkboard: The data folder can only be read. It is served, but no use of a key, no memory image and, without --audit-folder, no access record is written. Restart the server when the folder can be written.';
/** Exist only in the build; a server that runs from `src/` shows plain pages. */
const CONSOLE_FOLDER = join(import.meta.dirname, '../../console');
const DOCUMENTS_FOLDER = join(import.meta.dirname, '../../docs');
// npx and npm forward a Ctrl-C to a program that has already received it from the terminal.
const SAME_SIGNAL_MS = 200;
/** The default number of workers is at most this, because each worker needs its own memory. */
const MOST_WORKERS_BY_CORES = 8;

export function addServeCommand(program: Command): void {
  const serve = program
    .command('serve')
    .summary('Serve the API over HTTP.')
    .description('Serve the API over HTTP until SIGINT or SIGTERM.');
  addListenOptions(serve, 'info')
    .addOption(
      setting('--workers <n>', 'worker processes; 1 is a single process, for small machines')
        .argParser(readWorkers)
        .default(defaultWorkers(), `one per two cores, at most ${MOST_WORKERS_BY_CORES}`),
    )
    .addOption(
      setting('--variant <a|b>', 'variant at the root; both are always available at /a and /b')
        .choices(['a', 'b'])
        .default('a'),
    )
    .addOption(
      setting(
        '--rate-limit <n/unit>',
        'rate limit for keys without their own, like 10/second, 100/minute or 5000/hour',
      ).argParser(readRateLimit),
    )
    .addOption(
      setting('--limit <name=value>', 'set a limit of each process; can be repeated')
        .argParser(readLimits)
        .env('CORKBOARD_LIMITS'),
    )
    .addOption(new Option('--database-read <url>').env('CORKBOARD_DATABASE_READ').hideHelp())
    .addOption(
      setting(
        '--cors-origin <origins>',
        'allow web pages of these comma-separated origins to use the API; can be repeated',
      ).argParser(readOrigins),
    )
    .addOption(
      setting(
        '--trust-proxy <addresses>',
        'proxies whose X-Forwarded-For header gives the client address, for the log and the networks of keys: comma-separated addresses or networks, like 10.0.0.0/8; can be repeated',
      ).argParser(readProxies),
    )
    .addOption(
      setting(
        '--metrics-organizations [on|off]',
        'include the names of organizations in /metrics, which requires no key',
      ).argParser(readSwitch),
    )
    .addOption(
      setting(
        '--audit-access [on|off]',
        'record every request with a key: which key read which route, but no data about users',
      ).argParser(readSwitch),
    )
    .addOption(auditFolderOption())
    .action((_options: unknown, command: Command) => serveData(command.optsWithGlobals()));
  serve.addHelpText('after', ({ command }) => renderLimits(command));
  addExamples(serve, [
    'corkboard serve',
    'corkboard serve --data /srv/corkboard --host 0.0.0.0 --port 80',
    'corkboard serve --workers 4 --resident-limit 8GB',
    'corkboard serve --workers 1 --resident-limit 0',
    'CORKBOARD_DATABASE=postgres://corkboard@db.example.org/corkboard corkboard serve --host 0.0.0.0',
    'corkboard serve --database postgres://db1/corkboard --cache /var/cache/corkboard --cache-limit 50GB',
    'corkboard serve --limit responses-per-key=8 --limit response-memory=2GB',
    'corkboard serve --admin-port 9464',
    'corkboard serve --audit-access',
    'corkboard serve --trust-proxy 127.0.0.1,10.20.0.0/16',
    'corkboard serve --variant b --rate-limit 100/minute --cors-origin https://dashboard.example.org',
  ]);
}

/** The list of limits, wrapped like the options. */
function renderLimits(command: Command): string {
  const help = command.createHelp();
  help.prepareContext({ helpWidth: command.configureOutput().getOutHelpWidth?.() ?? 80 });
  const width = Math.max(...LIMIT_NAMES.map((name) => name.length));
  const items = LIMIT_NAMES.map((name) =>
    help.formatItem(name, width, `${LIMITS[name].help} (default: ${renderDefault(name)})`, help),
  );
  return ['', 'Limits of each process, for --limit:', ...items].join('\n');
}

/** The options of a command that listens. */
export function addListenOptions(command: Command, logLevel: string): Command {
  return command
    .addOption(
      setting('--host <host>', 'address to listen on; 0.0.0.0 for all addresses').default('127.0.0.1'),
    )
    .addOption(
      setting('-p, --port <number>', 'port to listen on; 0 for any free port')
        .argParser(readPort)
        .default(8080),
    )
    .addOption(
      setting(
        '--admin-port <number>',
        'second port, for operators only: /metrics (then only there), /livez and /readyz; 0 for any free port',
      ).argParser(readPort),
    )
    .addOption(setting('--admin-host <host>', 'address of the admin port').default('127.0.0.1'))
    .addOption(
      setting('--version-header [on|off]', 'tell clients the version of Corkboard')
        .argParser(readSwitch)
        .default(true, 'on'),
    )
    .addOption(
      setting('--log-level <level>', 'least severe level to log')
        .choices(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
        .default(logLevel),
    )
    .addOption(
      setting(
        '--resident-limit <size>',
        'memory for data, like 512MB or 2GB, or 0 for none; data that does not fit is read from disk (default: half of the memory)',
      ).argParser(readSize),
    );
}

/**
 * A process keeps about two cores busy: one thread serves, one renders and others compress
 * (decision 39).
 */
function defaultWorkers(): number {
  return Math.min(Math.max(1, Math.floor(availableParallelism() / 2)), MOST_WORKERS_BY_CORES);
}

async function serveData(options: ServeOptions): Promise<void> {
  if (options.databaseRead) {
    throw new AppError(
      'option-malformed',
      '--database-read (CORKBOARD_DATABASE_READ) was removed: servers read from their own cache (--cache), not from the database. Leave it out; --database can name several hosts of one database.',
    );
  }
  if (cluster.isWorker) {
    return runAsWorker((untilStopped) => serveHere(options, ({ address }) => untilStopped(address)));
  }
  await accessFolderOf(options);
  if (isReadOnlyPlace(options)) remark(READ_ONLY);
  keepRoom(options);
  await tellNewerRules(options);
  const untilSignal = async (server: RunningServer) =>
    runUntilSignal(options, server, await firstSteps(options));
  if (options.workers === 1) return serveHere(options, untilSignal);
  const { findFreePort, startWorkers } = await import('../process/workers.ts');
  const port = options.port === 0 ? await withAddress(options, findFreePort(options.host)) : options.port;
  const server = await startWorkers({ ...options, port });
  await untilSignal(server);
}

/** How to begin, if there is nothing to serve yet. A failure must not end the server. */
async function firstSteps(options: ServeOptions): Promise<readonly string[]> {
  const reading = withNewStore(options, (store) => store.organizations());
  const organizations = await reading.catch(() => undefined);
  if (organizations?.length !== 0) return [];
  const place = options.database ? 'the database' : `the data folder ${options.data}`;
  return [
    '',
    `There is no organization in ${place} yet. Beside this server, import files and create a key:`,
    '  corkboard import FOLDER --organization NAME',
    '  corkboard keys create --organization NAME',
    'or start "corkboard demo" to look around first.',
  ];
}

/** Says which policies use zones for which the system has other, newer rules. */
async function tellNewerRules(options: ServeOptions): Promise<void> {
  if (options.zoneData === undefined) return;
  const { newerRules, zoneData } = await import('../../system/zones.ts');
  const { readPolicy, zonesOf } = await import('../../points/policy.ts');
  await withNewStore(options, async (store) => {
    const organizations = await store.organizations();
    const users = organizations.flatMap(({ name, settings }) =>
      zonesOf(readPolicy(settings.policy)).map((zone) => ({ name, zone })),
    );
    const newer = newerRules([...new Set(users.map(({ zone }) => zone))]);
    if (newer === undefined || newer.differing.length === 0) return;
    const using = users.filter(({ zone }) => newer.differing.includes(zone));
    const listed = using.map(({ name, zone }) => `${zone} (${name})`).join(', ');
    remark(
      `The time zone rules ${zoneData()} are in use. The system has those of ${newer.version}, which differ for zones of points policies: ${listed}. Use --zone-data system, or leave the option out.`,
    );
  });
}

/** Serves in this process while `use` lasts, then lets the responses in progress end. */
async function serveHere(
  options: ServeOptions,
  use: (server: RunningServer) => Promise<void>,
): Promise<void> {
  await withNewStore(
    options,
    (store) =>
      withKeyring(options, async (keyring) => {
        const server = await listen({
          store: await keepResident(store, options, options.workers),
          keyring,
          workers: options.workers,
          host: options.host,
          port: options.port,
          defaultVariant: options.variant,
          logLevel: options.logLevel,
          rateLimit: options.rateLimit,
          limits: options.limit,
          corsOrigins: options.corsOrigin,
          trustedProxies: options.trustProxy,
          metricsOrganizations: options.metricsOrganizations,
          accessFolder: await accessFolderOf(options),
          hasAdmin: options.adminPort !== undefined,
          showsVersion: options.versionHeader,
        });
        await use(server);
        await server.stop();
      }),
    PATIENCE_MS,
  );
}

/** Absent without `--audit-access`, or if the data folder can only be read. */
async function accessFolderOf(options: ServeOptions): Promise<string | undefined> {
  if (!options.auditAccess || (isReadOnlyPlace(options) && !options.auditFolder)) return undefined;
  return await requireAccessFolder(options);
}

/** Starts a server; throws a readable `settings-refused` if it cannot listen on the address. */
export async function listen(options: Omit<ServerOptions, 'logStream'>): Promise<RunningServer> {
  const { startServer } = await import('../../server/start.ts');
  // Standard output is for results only, here the base URLs, so the log goes to standard error.
  return withAddress(
    options,
    startServer({
      ...options,
      ...{ consoleFolder: CONSOLE_FOLDER, documentsFolder: DOCUMENTS_FOLDER },
      logStream: openSharedLog(),
    }),
  );
}

async function withAddress<T>(
  { host, port }: Pick<ServerOptions, 'host' | 'port'>,
  starting: Promise<T>,
  option = '--port',
): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const inUse = 'code' in error && error.code === 'EADDRINUSE';
    const reason = inUse
      ? `it is in use; choose a different port with ${option}, or 0 for any free port`
      : error.message;
    throw new AppError('settings-refused', `Cannot listen on port ${port} of ${host}: ${reason}.`, {
      cause: error,
    });
  }
}

/**
 * Opens the admin address of a running server, prints all URLs and more lines, and stops both after
 * a signal. The admin address is the last to close, so that it shows that the server stops.
 */
export async function runUntilSignal(
  options: ListenOptions,
  server: RunningServer,
  lines: readonly string[] = [],
): Promise<void> {
  let admin: AdminServer | undefined;
  try {
    admin = await openAdmin(options, server);
    const adminLine = admin === undefined ? [] : [`Admin:     ${admin.address}`];
    const { zoneData } = await import('../../system/zones.ts');
    const zoneLine = `Zone data: ${zoneData()}`;
    print([renderBaseUrls(server.address), ...adminLine, zoneLine, ...lines].join('\n'));
    await waitForSignal();
    // Otherwise every line on standard error is one of the log, in JSON.
    if (process.stderr.isTTY || options.logLevel === 'silent') remark(STOPPING);
  } finally {
    await server.stop();
    await admin?.stop();
  }
}

async function openAdmin(
  { adminHost: host, adminPort: port, logLevel }: ListenOptions,
  { operation }: RunningServer,
): Promise<AdminServer | undefined> {
  if (port === undefined) return undefined;
  const { startAdmin } = await import('../../server/admin.ts');
  const options = { host, port, logLevel, logStream: openSharedLog() };
  return await withAddress(options, startAdmin(options, operation), '--admin-port');
}

/** The URLs to print, with the URL of the console if it has been built. */
function renderBaseUrls(address: string): string {
  const site = existsSync(CONSOLE_FOLDER) ? `Console:   ${address}/\n` : '';
  return `${site}Variant A: ${address}/a\nVariant B: ${address}/b\nReference: ${address}/docs`;
}

const STOPPING = 'Stopping when the responses in progress have ended; a second signal stops immediately.';

/** Waits for SIGINT or SIGTERM; a second one, while responses in progress end, stops at once. */
async function waitForSignal(): Promise<void> {
  await new Promise<void>((resolve) => {
    let stoppingSinceMs: number | undefined;
    const onSignal = () => {
      if (stoppingSinceMs === undefined) {
        stoppingSinceMs = performance.now();
        resolve();
      } else if (performance.now() - stoppingSinceMs > SAME_SIGNAL_MS) {
        process.exit(1);
      }
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
