/**
 * Four servers and two importers on one database, with many organizations. Checks that each server
 * shows complete versions of each organization in order, and measures the delay and the number of
 * bytes transferred, compared to the bytes changed.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { type Corkboard, createKey, importFiles, migrate, startCorkboard } from '../corkboard.ts';
import { startCountingProxy } from '../counting-proxy.ts';
import { startPostgres } from '../postgres.ts';
import type { Report } from '../report.ts';
import { percentile } from '../statistics.ts';
import { bytes, duration } from '../table.ts';

export interface SharedPlan {
  readonly minutes: number;
  readonly quick: boolean;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly report: Report;
}

const SERVERS = 4;
const IMPORTERS = 2;
const ORGANIZATIONS = 200;
const QUICK_ORGANIZATIONS = 6;
const BASE_EVENTS = 500;
const BATCH_EVENTS = 20;
const LATEST_MS = 10_000;
const LOOK_EVERY_MS = 50;
const DATA = 'many organizations';

interface Organization {
  readonly name: string;
  readonly key: string;
  /** Number of published batches, and of started ones. */
  published: number;
  begun: number;
  importing: boolean;
}

interface Ground {
  readonly url: string;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly organizations: readonly Organization[];
  readonly failures: string[];
  readonly takeUpMs: number[];
}

export async function runShared({ minutes, quick, folder, signal, report }: SharedPlan): Promise<void> {
  await using database = await startPostgres(signal);
  const target = new URL(database.url);
  await using proxy = await startCountingProxy(Number(target.port));
  await migrate(database.url, signal);
  report.say('Making organizations');
  const organizations = await prepare(
    database.url,
    folder,
    quick ? QUICK_ORGANIZATIONS : ORGANIZATIONS,
    signal,
  );
  target.port = String(proxy.port);
  const ground = { url: database.url, folder, signal, organizations, failures: [], takeUpMs: [] };
  const servers = await Promise.all(
    Array.from({ length: SERVERS }, (_, index) =>
      startServer(target.href, join(folder, `cache-${index}`), signal),
    ),
  );
  await using stack = new AsyncDisposableStack();
  for (const server of servers) stack.use(server);
  for (const organization of organizations) {
    for (const server of servers) await batchesOn(server, organization);
  }
  report.say(`Importing for ${minutes} minutes`);
  const before = { down: proxy.bytesDown, ...(await stored(database.url)) };
  const ending = AbortSignal.any([signal, AbortSignal.timeout(minutes * 60_000)]);
  await Promise.all([
    ...Array.from({ length: IMPORTERS }, (_, index) => keepImporting(ground, servers, index, ending)),
    ...servers.map((server) => keepAsking(ground, server, ending)),
  ]);
  addResults(report, ground, {
    down: proxy.bytesDown - before.down,
    ...difference(await stored(database.url), before),
  });
}

async function prepare(url: string, folder: string, count: number, signal: AbortSignal) {
  const bundle = join(folder, 'base');
  await mkdir(bundle);
  await writeFile(join(bundle, 'users.csv'), 'id,email,name\n1,one@example.org,One Person\n');
  await writeFile(join(bundle, 'boards.csv'), 'id,title\n7,Board\n');
  await writeFile(join(bundle, 'events.csv'), eventsOf(0, BASE_EVENTS));
  const organizations: Organization[] = [];
  for (let index = 0; index < count; index++) {
    const name = `o${index}`;
    await importFiles([bundle], url, signal, name);
    const { key } = await createKey(url, signal, name);
    organizations.push({ name, key, published: 0, begun: 0, importing: false });
  }
  return organizations;
}

function eventsOf(first: number, count: number): string {
  const lines = Array.from(
    { length: count },
    (_, index) => `${first + index + 1},board,visited,1,1,7,${1_700_000_000_000 + (first + index) * 1000}`,
  );
  return `id,type,action,owner_id,actor_id,board_id,timestamp\n${lines.join('\n')}\n`;
}

async function startServer(url: string, cache: string, signal: AbortSignal): Promise<Corkboard> {
  return await startCorkboard(url, signal, { options: ['--workers', '1', '--cache', cache] });
}

/** Imports into one organization after the other, skipping those with an import in progress. */
async function keepImporting(
  ground: Ground,
  servers: readonly Corkboard[],
  importer: number,
  ending: AbortSignal,
): Promise<void> {
  for (let turn = importer; !ending.aborted; turn++) {
    const organization = ground.organizations[(turn * 7) % ground.organizations.length]!;
    if (organization.importing) continue;
    organization.importing = true;
    try {
      await importBatch(ground, organization);
      await Promise.all(servers.map((server) => untilTakenUp(ground, server, organization)));
    } catch (error) {
      if (!ground.signal.aborted) ground.failures.push(String(error));
    } finally {
      organization.importing = false;
    }
  }
}

async function importBatch({ url, folder, signal }: Ground, organization: Organization): Promise<void> {
  const file = join(folder, `events-${organization.name}.csv`);
  organization.begun += 1;
  await writeFile(file, eventsOf(BASE_EVENTS + organization.published * BATCH_EVENTS, BATCH_EVENTS));
  await importFiles([file], url, signal, organization.name);
  organization.published += 1;
  await rm(file);
}

async function untilTakenUp(ground: Ground, server: Corkboard, organization: Organization): Promise<void> {
  const startMs = performance.now();
  const wanted = organization.published;
  while ((await batchesOn(server, organization)) < wanted) {
    const elapsedMs = performance.now() - startMs;
    if (elapsedMs > LATEST_MS)
      throw new Error(`${organization.name} was not taken up within ${duration(elapsedMs)}`);
    await pause(LOOK_EVERY_MS);
  }
  ground.takeUpMs.push(performance.now() - startMs);
}

/**
 * Checks that each response is of one version, is not older than the previous one, and contains
 * nothing that was not imported.
 */
async function keepAsking(ground: Ground, server: Corkboard, ending: AbortSignal): Promise<void> {
  const seen = new Map<string, number>();
  for (let turn = 0; !ending.aborted; turn++) {
    const organization = ground.organizations[turn % ground.organizations.length]!;
    try {
      const batches = await batchesOn(server, organization);
      const last = seen.get(organization.name) ?? 0;
      if (batches < last) ground.failures.push(`${organization.name} went back from ${last} to ${batches}`);
      if (batches > organization.begun)
        ground.failures.push(`${organization.name} shows what was not imported`);
      seen.set(organization.name, batches);
    } catch (error) {
      if (!ground.signal.aborted) ground.failures.push(String(error));
    }
    await pause(LOOK_EVERY_MS);
  }
}

async function batchesOn({ port }: Corkboard, { name, key }: Organization): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/a/v1/events?format=ndjson`, {
    headers: { apikey: key },
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${name}: status ${response.status}: ${text.slice(0, 200)}`);
  const batches = (text.split('\n').length - 1 - BASE_EVENTS) / BATCH_EVENTS;
  if (!Number.isInteger(batches)) throw new Error(`${name} shows a part of a batch (${batches})`);
  return batches;
}

interface Stored {
  readonly versions: number;
  readonly uploaded: number;
}

async function stored(url: string): Promise<Stored> {
  const client = new Client(url);
  await client.connect();
  const sql =
    'SELECT count(*) AS versions, coalesce(sum(uploaded_bytes), 0) AS uploaded FROM corkboard.versions';
  const { rows } = await client.query(sql);
  await client.end();
  return { versions: Number(rows[0].versions), uploaded: Number(rows[0].uploaded) };
}

function difference(now: Stored, before: Stored): Stored {
  return { versions: now.versions - before.versions, uploaded: now.uploaded - before.uploaded };
}

function addResults(
  report: Report,
  { organizations, failures, takeUpMs }: Ground,
  { down, versions, uploaded }: Stored & { readonly down: number },
): void {
  const sorted = Float64Array.from(takeUpMs).sort();
  report.addRow(
    'shared',
    ...[
      `${organizations.length}`,
      `${versions}`,
      duration(percentile(sorted, 0.5)),
      duration(percentile(sorted, 0.99)),
    ],
    ...[duration(sorted.at(-1)), bytes(uploaded), bytes(down)],
    (down / (uploaded * SERVERS)).toFixed(2),
  );
  for (const failure of failures.slice(0, 10)) report.remark(failure);
  report.check(DATA, 'every version was taken up by every server, whole and in order', failures.length === 0);
  report.check(DATA, 'versions were published', versions > 0);
}
