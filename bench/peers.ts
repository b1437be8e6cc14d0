/** The comparable servers: how to start each over the same data, and how to request the same. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPort, type Running, run, runningOf, untilListening } from './processes.ts';

const FOLDER = join(import.meta.dirname, 'peers');

export interface Peer {
  readonly title: string;
  readonly packageName: string;
  readonly needsDatabase: boolean;
  /** Arguments to Node, made from the port and the file with all events. */
  readonly args: (port: number, eventsFile: string) => readonly string[];
  /** A path, or a path, a tab and the body of a POST. */
  readonly exportLine: string;
  readonly boardLine: (board: number) => string;
}

const PERSON = 'email name role classRole';

/** Both servers use the same names for most fields; `id` is the name of the id field. */
function graphql(
  id: string,
  open: string,
  owner: string,
  actor: string,
  others: readonly [string, string, string],
  close: string,
) {
  const [organization, board, pin] = others;
  return JSON.stringify({
    query:
      `{ ${open} type action at ${owner} { ${id} ${PERSON} } ${actor} { ${id} ${PERSON} } ` +
      `${organization} { ${id} name domain categoryId } ${board} { ${id} title category } ` +
      `${pin} { ${id} title body webUrl imageUrl tags } ${close} }`,
  });
}

function postgraphile(argument: string): string {
  const others = ['organizationByOrganizationId', 'boardByBoardId', 'pinByPinId'] as const;
  const open = `allEvents(${argument}orderBy: [AT_ASC]) { nodes {`;
  return `/graphql\t${graphql('id: rowId', open, 'personByOwnerId', 'personByActorId', others, '} }')}`;
}

function platformatic(argument: string): string {
  const open = `events(${argument}limit: 1000000, orderBy: [{ field: at, direction: ASC }]) {`;
  return `/graphql\t${graphql('id', open, 'owner', 'actor', ['organization', 'board', 'pin'], '}')}`;
}

export const PEERS: readonly Peer[] = [
  {
    title: 'pg and JSON.stringify',
    packageName: 'pg',
    needsDatabase: true,
    args: () => ['plain-pg.mjs'],
    exportLine: '/events',
    boardLine: (board) => `/events/board/${board}`,
  },
  {
    title: 'PostGraphile',
    packageName: 'postgraphile',
    needsDatabase: true,
    args: () => ['postgraphile.mjs'],
    exportLine: postgraphile(''),
    boardLine: (board) => postgraphile(`condition: { boardId: ${board} }, `),
  },
  {
    title: 'Platformatic DB',
    packageName: '@platformatic/db',
    needsDatabase: true,
    args: () => ['platformatic.mjs'],
    exportLine: platformatic(''),
    boardLine: (board) => platformatic(`where: { boardId: { eq: ${board} } }, `),
  },
  {
    title: 'json-server',
    packageName: 'json-server',
    needsDatabase: false,
    args: (port, eventsFile) => [
      ...['node_modules/json-server/lib/cli/bin.js', '--quiet', '--host', '127.0.0.1'],
      ...['--port', `${port}`, eventsFile],
    ],
    exportLine: '/events',
    boardLine: (board) => `/events?board.id=${board}`,
  },
];

/** Measured elsewhere on two cores with the same amount of data, 173 MB; it is not on npm. */
export const QUOTED = {
  title: 'PostgREST (quoted, measured elsewhere on such a machine)',
  export: { totalMs: 4200, firstByteMs: 4100, memory: { sampledBytes: 540e6 } },
  small: { requestsPerSecond: 430, p50Ms: Number.NaN, p99Ms: 300 },
};

/** Installs exact versions from the registry, unless they are installed already. */
export async function installPeers(signal: AbortSignal): Promise<void> {
  if (existsSync(join(FOLDER, 'node_modules/.package-lock.json'))) return;
  const flags = ['--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...flags], { cwd: FOLDER, signal });
}

export async function loadDatabase(bundle: string, url: string, signal: AbortSignal): Promise<void> {
  await run(process.execPath, ['load.mjs', bundle], {
    cwd: FOLDER,
    env: { ...process.env, DATABASE_URL: url },
    signal,
  });
}

export async function startPeer(
  peer: Peer,
  url: string | undefined,
  eventsFile: string,
  signal: AbortSignal,
): Promise<Running & { readonly port: number }> {
  const port = await findPort();
  const child = spawn(process.execPath, peer.args(port, eventsFile), {
    ...{ cwd: FOLDER, signal, stdio: 'ignore' },
    env: { ...process.env, NODE_ENV: 'production', PORT: `${port}`, ...(url && { DATABASE_URL: url }) },
  });
  const running = runningOf(child);
  try {
    await untilListening(running, port);
  } catch (error) {
    await running[Symbol.asyncDispose]();
    throw error;
  }
  return { ...running, port };
}

/** The version of the installed package. */
export function readPeerVersion(peer: Peer): string {
  const path = join(FOLDER, 'node_modules', peer.packageName, 'package.json');
  return JSON.parse(readFileSync(path, 'utf8')).version;
}
