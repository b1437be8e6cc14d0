/**
 * Many organizations on one server, asked at random: how long a request takes if most of them are
 * not in memory. Run it in a control group to limit the memory of the server.
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
  for (const visits of ['first', 'again'] as const) {
    report.say(`Asking for ${minutes} minutes`);
    const latencies = await askAtRandom(server, keys, boards, minutes * 60_000);
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

/** The latencies of requests for the events of a board, each of any organization. */
async function askAtRandom(
  { port }: Corkboard,
  keys: readonly string[],
  boards: readonly number[],
  ms: number,
): Promise<number[]> {
  const random = makeRandom(7);
  const latencies: number[] = [];
  const endMs = performance.now() + ms;
  const askRepeatedly = async () => {
    const connection = await Connection.open(port);
    while (performance.now() < endMs) {
      const path = `/a/v1/events/board/${random.pick(boards)}`;
      const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${random.pick(keys)}\r\n\r\n`;
      const { status, lastByteMs } = await connection.request(head);
      if (status !== 200) throw new Error(`${path} has the status ${status}.`);
      latencies.push(lastByteMs);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, askRepeatedly));
  return latencies;
}
