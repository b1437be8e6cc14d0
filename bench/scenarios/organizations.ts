/**
 * Many organizations on one server, asked once each and then at random: how long a request takes if
 * most of them are not in memory. Run it in a control group to limit the memory of the server.
 */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { boardIds, communityOf, writeCommunity } from '../community.ts';
import { Connection } from '../connection.ts';
import { type Corkboard, importFiles, ORGANIZATION, startCorkboard } from '../corkboard.ts';
import { readProcessTree, readPss } from '../memory.ts';
import { makeRandom } from '../random.ts';
import type { Report } from '../report.ts';
import { percentile } from '../statistics.ts';
import { bytes, duration } from '../table.ts';

export interface OrganizationsPlan {
  readonly organizations: number;
  /** Of each organization. */
  readonly events: number;
  readonly minutes: number;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly report: Report;
}

/** Concurrent requests, each of a different client. */
const CONNECTIONS = 4;
const BOARDS_ASKED = 16;
const WAIT_MS = 60_000;

export async function runOrganizations(plan: OrganizationsPlan): Promise<void> {
  const { report, signal, organizations, events, minutes, folder } = plan;
  const dataDir = join(folder, 'data');
  report.say(`Making ${organizations} organizations of ${events} events`);
  const keys = await makeOrganizations(plan, dataDir);
  await using server = await startCorkboard(dataDir, signal, { options: ['--workers', '1'] });
  const boards = boardIds(communityOf(events)).slice(0, BOARDS_ASKED);
  const ask = {
    first: () => askEach(server, keys, boards[0]!),
    again: () => askAtRandom(server, keys, boards, minutes * 60_000),
  };
  for (const visits of ['first', 'again'] as const) {
    report.say(visits === 'first' ? 'Asking each once' : `Asking at random for ${minutes} minutes`);
    const latencies = await ask[visits]();
    const ascending = Float64Array.from(latencies).sort();
    report.addRow(
      'organizations',
      ...[String(organizations), visits, String(latencies.length)],
      ...[0.5, 0.9, 0.99, 1].map((share) => duration(percentile(ascending, share))),
      bytes(readPss(readProcessTree(server.pid))),
    );
  }
}

/** Imports one organization and copies it, with a secret and a key for each copy. */
async function makeOrganizations(plan: OrganizationsPlan, dataDir: string): Promise<string[]> {
  const bundle = join(plan.folder, 'bundle');
  await mkdir(bundle);
  await writeCommunity(bundle, communityOf(plan.events));
  await importFiles([bundle], dataDir, plan.signal);
  const store = await openFolderStore(dataDir);
  const keyring = openSqliteKeyring(dataDir);
  const keys: string[] = [];
  for (let copy = 0; copy < plan.organizations; copy++) {
    const organization = `organization-${copy}`;
    const { entry, file } = await store.original(ORGANIZATION);
    const copied = { entry: { ...entry, name: organization, secret: randomBytes(32) }, file };
    try {
      await store.adopt([copied], { waitMs: WAIT_MS, onBytes: () => {} });
    } finally {
      file?.release();
    }
    const scope = { boards: 'all', users: 'all' } as const;
    const redact = { email: false, name: false, id: false };
    keys.push((await keyring.create({ organization, label: '', scope, redact }, undefined)).key);
  }
  await store.close();
  await keyring.close();
  return keys;
}

/** The latencies of one request to each organization, for the events of a board. */
async function askEach({ port }: Corkboard, keys: readonly string[], board: number): Promise<number[]> {
  const latencies: number[] = [];
  const left = [...keys];
  await onConnections(port, async (ask) => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) latencies.push(await ask(key, board));
  });
  return latencies;
}

/** The latencies of requests to any organization, for the events of any of the boards. */
async function askAtRandom(
  { port }: Corkboard,
  keys: readonly string[],
  boards: readonly number[],
  ms: number,
): Promise<number[]> {
  const random = makeRandom(7);
  const latencies: number[] = [];
  const endMs = performance.now() + ms;
  await onConnections(port, async (ask) => {
    while (performance.now() < endMs) latencies.push(await ask(random.pick(keys), random.pick(boards)));
  });
  return latencies;
}

/** `work` asks one request after the other, and gets the latency of each. */
async function onConnections(
  port: number,
  work: (ask: (key: string, board: number) => Promise<number>) => Promise<void>,
): Promise<void> {
  const run = async () => {
    const connection = await Connection.open(port);
    await work(async (key, board) => {
      const path = `/a/v1/events/board/${board}`;
      const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n\r\n`;
      const { status, lastByteMs } = await connection.request(head);
      if (status !== 200) throw new Error(`${path} has the status ${status}.`);
      return lastByteMs;
    });
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
}
