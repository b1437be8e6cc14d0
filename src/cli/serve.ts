/** `corkboard serve`: answers the API, in one process or several, until it is told to stop. */
import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { AppError } from '../app-error.ts';
import type { RateLimit } from '../keys/keyring.ts';
import { LIMIT_NAMES, LIMITS, type Limits, renderDefault } from '../server/limits.ts';
import type { RunningServer, ServerOptions } from '../server/start.ts';
import { addExamples } from './examples.ts';
import { keepRoom } from './full-disk.ts';
import {
  readLimits,
  readOrigin,
  readPort,
  readProxies,
  readRateLimit,
  readSize,
  readWorkers,
} from './options.ts';
import { print, remark } from './output.ts';
import { openSharedLog } from './shared-log.ts';
import {
  keepResident,
  type ResidentOption,
  type StorageOptions,
  withKeyring,
  withNewStore,
} from './storage.ts';
import { runAsWorker } from './worker.ts';

export interface ListenOptions extends StorageOptions, ResidentOption {
  readonly host: string;
  readonly port: number;
  readonly logLevel: ServerOptions['logLevel'];
}

interface ServeOptions extends ListenOptions {
  readonly databaseRead?: string;
  readonly workers: number;
  readonly variant: 'a' | 'b';
  readonly rateLimit?: RateLimit;
  readonly limit?: Partial<Limits>;
  readonly corsOrigin?: readonly string[];
  readonly trustProxy?: readonly string[];
  readonly metricsOrganizations?: boolean;
}

/** A request waits so long for data that come from elsewhere, then is asked to try again. */
const PATIENCE_MS = 8_000;
/** Beside what ships; in `src/` there is none, so that a server run from there shows a plain page. */
const CONSOLE_FOLDER = join(import.meta.dirname, '../console');
// npx and npm pass a Ctrl-C on to a program that the terminal has told already.
const SAME_SIGNAL_MS = 200;
/** More only when they are asked for: each takes memory of its own. */
const MOST_WORKERS_BY_CORES = 8;

export function addServeCommand(program: Command): void {
  const serve = program.command('serve').description('Serve the API over HTTP until SIGINT or SIGTERM.');
  addListenOptions(serve, 'info')
    .addOption(
      new Option('--workers <n>', 'processes on the port; 1 for small machines')
        .argParser(readWorkers)
        .default(defaultWorkers(), `one for two cores, at most ${MOST_WORKERS_BY_CORES}`),
    )
    .addOption(
      new Option('--variant <a|b>', 'variant at the root, beside /a and /b').choices(['a', 'b']).default('a'),
    )
    .option(
      '--rate-limit <n/unit>',
      'for keys without their own: 10/second, 100/minute, 5000/hour',
      readRateLimit,
    )
    .addOption(
      new Option(
        '--limit <name=value>',
        'what keys and organizations may take at once in each process; can be repeated; the names are below',
      )
        .argParser(readLimits)
        .env('CORKBOARD_LIMITS'),
    )
    .addOption(new Option('--database-read <url>').env('CORKBOARD_DATABASE_READ').hideHelp())
    .option('--cors-origin <origin>', 'let pages of this origin read; can be repeated', readOrigin)
    .option(
      '--trust-proxy <addresses>',
      'proxies whose X-Forwarded-For names the client in the log: addresses or networks between commas, like 10.0.0.0/8; can be repeated',
      readProxies,
    )
    .option('--metrics-organizations', 'name organizations in /metrics, which requires no key')
    .action((_options: unknown, command: Command) => serveData(command.optsWithGlobals()));
  serve.addHelpText('after', renderLimits());
  addExamples(serve, [
    'corkboard serve',
    'corkboard serve --data /srv/corkboard --host 0.0.0.0 --port 80',
    'corkboard serve --workers 4 --resident-limit 8GB',
    'corkboard serve --workers 1 --resident-limit 0',
    'CORKBOARD_DATABASE=postgres://corkboard@db.example.org/corkboard corkboard serve --host 0.0.0.0',
    'corkboard serve --database postgres://db1/corkboard --cache /var/cache/corkboard --cache-limit 50GB',
    'corkboard serve --limit responses-per-key=8 --limit response-memory=2GB',
    'corkboard serve --trust-proxy 127.0.0.1,10.20.0.0/16',
    'corkboard serve --variant b --rate-limit 100/minute --cors-origin https://dashboard.example.org',
  ]);
}

function renderLimits(): string {
  const lines = LIMIT_NAMES.map(
    (name) => `  ${name}\n      ${LIMITS[name].help} (default: ${renderDefault(name)})`,
  );
  return ['', 'Limits, for each process:', ...lines].join('\n');
}

/** The options of a command that listens. */
export function addListenOptions(command: Command, logLevel: string): Command {
  return command
    .option('--host <host>', 'address to listen on; 0.0.0.0 for all', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 for any free one', readPort, 8080)
    .addOption(
      new Option('--log-level <level>', 'least severe lines of the log')
        .choices(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
        .default(logLevel),
    )
    .option(
      '--resident-limit <size>',
      'memory to keep data in, like 512MB or 2GB; what does not fit is read from disk, with 0 everything (default: half of the memory)',
      readSize,
    );
}

/** A process keeps about two cores busy: one serves, a thread beside it renders and others compress (decision 39). */
function defaultWorkers(): number {
  return Math.min(Math.max(1, Math.floor(availableParallelism() / 2)), MOST_WORKERS_BY_CORES);
}

async function serveData(options: ServeOptions): Promise<void> {
  if (options.databaseRead) {
    throw new AppError(
      'option-malformed',
      '--database-read (CORKBOARD_DATABASE_READ) is gone: servers read from their own cache (--cache), not from the database. Leave it out; --database may name several hosts of one database.',
    );
  }
  if (cluster.isWorker) {
    return runAsWorker((untilStopped) => serveHere(options, ({ address }) => untilStopped(address)));
  }
  keepRoom(options);
  const untilSignal = ({ address }: RunningServer) => {
    print(renderBaseUrls(address));
    return waitForSignal();
  };
  if (options.workers === 1) return serveHere(options, untilSignal);
  const { findFreePort, startWorkers } = await import('./workers.ts');
  const port = options.port === 0 ? await withAddress(options, findFreePort(options.host)) : options.port;
  const server = await startWorkers({ ...options, port });
  await untilSignal(server);
  await server.stop();
}

/** Serves in this process while `use` lasts, then lets the answers in flight end. */
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
        });
        await use(server);
        await server.stop();
      }),
    PATIENCE_MS,
  );
}

/** Starts a server; an address that cannot be had is refused in words. */
export async function listen(options: Omit<ServerOptions, 'logStream'>): Promise<RunningServer> {
  const { startServer } = await import('../server/start.ts');
  // Standard output belongs to the result, here the base URLs.
  return withAddress(
    options,
    startServer({ ...options, consoleFolder: CONSOLE_FOLDER, logStream: openSharedLog() }),
  );
}

async function withAddress<T>(
  { host, port }: Pick<ServerOptions, 'host' | 'port'>,
  starting: Promise<T>,
): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const inUse = 'code' in error && error.code === 'EADDRINUSE';
    const reason = inUse ? 'it is in use; choose another with --port, 0 for any free one' : error.message;
    throw new AppError('settings-refused', `Port ${port} on ${host} cannot be had: ${reason}.`, {
      cause: error,
    });
  }
}

/** With the console, where it has been built. */
export function renderBaseUrls(address: string): string {
  const site = existsSync(CONSOLE_FOLDER) ? `Console:   ${address}/\n` : '';
  return `${site}Variant A: ${address}/a\nVariant B: ${address}/b\nReference: ${address}/docs`;
}

/** Waits for SIGINT or SIGTERM; another one, while the answers in flight end, stops at once. */
export async function waitForSignal(): Promise<void> {
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
  remark('Stopping when the answers in flight have ended; another signal stops at once.');
}
