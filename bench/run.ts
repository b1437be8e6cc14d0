/** One run: all scenarios with each set of data, smaller data first. */
import { existsSync } from 'node:fs';
import { mkdir, rm, statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { type AboutGround, type Ground, knownGround, openBed, type Plan, prepareGround } from './bed.ts';
import { boardIds, communityOf, writeCommunity } from './community.ts';
import { countEvents, type Program } from './corkboard.ts';
import { BOARD_OF_ALL, crowdOf, writeCrowd } from './crowd.ts';
import { SMALL_KINDS } from './questions.ts';
import { measureAgainst } from './scenarios/against.ts';
import { measureBlocking } from './scenarios/blocking.ts';
import { measureExports } from './scenarios/exports.ts';
import { measureGrowth } from './scenarios/growth.ts';
import { addImport, measureIncrements, measureNestedImport } from './scenarios/imports.ts';
import { measureInsights } from './scenarios/insights.ts';
import { measureMixed } from './scenarios/mixed.ts';
import { measurePeers } from './scenarios/peers.ts';
import { measureSmall, measureUnchanged } from './scenarios/small.ts';
import { measureStart } from './scenarios/start.ts';
import { measureStores } from './scenarios/stores.ts';
import { measureSync } from './scenarios/sync.ts';
import { remarkStolen } from './stolen.ts';
import { size } from './table.ts';

/**
 * A subset of the Open University Learning Analytics Dataset (CC BY 4.0), used if it is beside the
 * checkout.
 */
const OULAD = join(import.meta.dirname, '../../shared/data/oulad');
const OULAD_DATA = {
  title: 'OULAD',
  community: { events: 0, boards: 4, users: 0 },
  firstPath: '/a/v1/board/1/points',
};
/** Approximate size of an event as JSON. */
const EVENT_BYTES = 910;
/** With more events, the import of nested events takes too long for a run. */
const NESTED_EVENTS = 2_000_000;
/** The number of events in the quoted measurements. */
const PEER_EVENTS = 200_000;
const QUICK_PEER_EVENTS = 5_000;
/** Scenarios that send requests to one server after the other. */
const SERVED = [...SMALL_KINDS, 'unchanged', 'insights', 'mixed'];

export interface RowWriter extends Plan {
  readonly events: readonly number[];
  readonly against: Program | undefined;
  /** A folder for the data of each size, which a later run uses; absent: the data is removed. */
  readonly keep: string | undefined;
}

export async function runScenarios(run: RowWriter, folder: string): Promise<void> {
  const sizes = run.events.toSorted((a, b) => a - b);
  if (anyChosen(run, ['import', 'start', 'plain', 'gzip', 'zstd', 'growth', 'sync', ...SERVED])) {
    await measureSizes(run, sizes, folder);
  }
  const part = async (name: string, title: string, work: (place: string) => Promise<void>) => {
    if (run.chosen(name)) await remarkStolen(run.report, title, () => inFolder(join(folder, name), work));
  };
  if (!run.quick) await part('oulad', 'OULAD', (place) => measureOulad(run, place));
  await part('blocking', 'Longest stalls', (place) => measureStalls(run, sizes[0]!, place));
  await part('against', 'Against', (place) => measureBoth(run, sizes, place));
  await part('stores', 'Stores', (place) => measureOverStores(run, sizes, place));
  const events = run.quick ? QUICK_PEER_EVENTS : PEER_EVENTS;
  await part('peers', 'Comparable servers', (place) => measurePeers(run, events, place));
}

/** Keeps the data of all sizes until each has been compared with the next smaller one. */
async function measureSizes(run: RowWriter, sizes: readonly number[], folder: string): Promise<void> {
  await inFolder(join(folder, 'sizes'), async (place) => {
    const grounds: Ground[] = [];
    for (const events of sizes) {
      const home = join(place, `events-${events}`);
      await mkdir(home);
      const measure = () => measureCommunity(run, events, home);
      grounds.push(await remarkStolen(run.report, size(events), measure));
    }
    if (grounds.length === 1) return;
    await remarkStolen(run.report, 'Growth', async () => {
      for (const [at, larger] of grounds.slice(1).entries()) {
        await attempt(run, larger.title, () => measureGrowth(run, grounds[at]!, larger));
      }
    });
  });
}

async function measureCommunity(run: RowWriter, events: number, folder: string): Promise<Ground> {
  const { report, signal } = run;
  const title = size(events);
  const community = communityOf(events);
  const about = { title, community, folder, firstPath: `/a/v1/events/board/${boardIds(community)[0]}` };
  const kept = run.keep === undefined ? undefined : join(run.keep, `events-${events}`);
  const isKept = kept !== undefined && existsSync(kept);
  const ground = isKept ? await knownGround(about, kept, signal) : await importCommunity(run, about, kept);
  const inForce = await countEvents(ground.dataDir, signal);
  report.check(title, `the import holds ${events.toLocaleString('en')} events`, inForce === events);
  // One that fails, say for lack of memory, must not lose the figures of hours.
  const stage = (work: () => Promise<void>) => attempt(run, title, work);
  if (isKept) report.remark(`${title}: the data is that of an earlier run.`);
  else if (run.chosen('start')) await stage(() => measureStart(ground, run));
  const aside = await hasRoom(run, ground);
  if (anyChosen(run, ['plain', 'gzip', 'zstd'])) await stage(() => measureExports(ground, run, aside));
  await stage(() => measureServed(run, ground, aside));
  if (run.chosen('sync')) await stage(() => measureSync(ground, run));
  if (run.chosen('import')) {
    await stage(() => measureIncrements(ground, run));
    if (events <= NESTED_EVENTS && !isKept) await stage(() => measureNestedImport(ground, run));
  }
  return ground;
}

/** Imports the invented community into the folder `kept`, or else into one that is removed. */
async function importCommunity(
  run: RowWriter,
  about: AboutGround,
  kept: string | undefined,
): Promise<Ground> {
  const { report, signal } = run;
  const { title, community, folder } = about;
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  report.say(`${title} events: writing and importing`);
  await writeCommunity(bundle, community);
  const dataDir = kept ?? join(folder, 'data');
  const { ground, ...imported } = await prepareGround(about, [bundle], signal, { dataDir });
  await rm(bundle, { recursive: true });
  if (run.chosen('import')) addImport(run, ground, 'flat CSV', community.events, imported);
  return ground;
}

/** Reports a failure as a check that has failed. */
async function attempt(
  { report, signal }: RowWriter,
  title: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    report.check(title, `all scenarios end: ${error instanceof Error ? error.message : error}`, false);
  }
}

async function measureServed(run: RowWriter, ground: Ground, aside: boolean): Promise<void> {
  if (!anyChosen(run, SERVED)) return;
  await using bed = await openBed(ground, run.signal);
  for (const kind of SMALL_KINDS) if (run.chosen(kind)) await measureSmall(bed, run, kind);
  if (run.chosen('unchanged')) await measureUnchanged(bed, run);
  if (run.chosen('insights')) await measureInsights(bed, run);
  if (run.chosen('mixed')) await measureMixed(bed, run, aside && ground.community.events <= NESTED_EVENTS);
}

async function measureBoth(run: RowWriter, sizes: readonly number[], folder: string): Promise<void> {
  const { against } = run;
  if (against === undefined) return;
  for (const events of sizes) {
    const place = join(folder, `${events}`);
    await inFolder(place, async () => measureAgainst(run, await bundleOf(events, place), against));
  }
}

async function measureOverStores(run: RowWriter, sizes: readonly number[], folder: string): Promise<void> {
  for (const events of sizes) {
    const place = join(folder, `${events}`);
    await inFolder(place, async () => measureStores(run, await bundleOf(events, place), run.against));
  }
  if (run.quick || !existsSync(OULAD)) return;
  await inFolder(join(folder, 'oulad'), (place) =>
    measureStores(run, { ...OULAD_DATA, folder: place, bundle: OULAD }, run.against),
  );
}

/** Writes the generated community as files. */
async function bundleOf(events: number, folder: string) {
  const community = communityOf(events);
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  await writeCommunity(bundle, community);
  const firstPath = `/a/v1/events/board/${boardIds(community)[0]}`;
  return { title: size(events), community, folder, firstPath, bundle };
}

async function measureStalls(run: RowWriter, events: number, folder: string): Promise<void> {
  const community = crowdOf(events);
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  await writeCrowd(bundle, community);
  const firstPath = `/a/v1/events/board/${BOARD_OF_ALL}`;
  await measureBlocking(run, { title: size(events), community, folder, firstPath }, bundle);
}

async function measureOulad(run: RowWriter, folder: string): Promise<void> {
  if (!existsSync(OULAD)) {
    run.report.remark('OULAD does not lie beside the checkout.');
    return;
  }
  run.report.say('OULAD: importing');
  const { ground, ...imported } = await prepareGround({ ...OULAD_DATA, folder }, [OULAD], run.signal);
  const events = await countEvents(ground.dataDir, run.signal);
  addImport(run, ground, 'flat CSV, gzip', events, imported);
  const counted = { ...ground, community: { ...ground.community, events } };
  const plan = { ...run, chosen: (name: string) => name === 'plain' || name === 'gzip' };
  await measureExports(counted, plan, await hasRoom(run, counted));
}

/**
 * Whether the disk has room for the export several times, and the page cache for the export.
 * Otherwise the rate of nginx would be that of the disk.
 */
async function hasRoom(run: RowWriter, ground: Ground): Promise<boolean> {
  const exportBytes = ground.community.events * EVENT_BYTES;
  const { bavail, bsize } = await statfs(ground.folder);
  const room = exportBytes < totalmem() / 2 && exportBytes * 3 < bavail * bsize;
  if (!room) run.report.remark(`${ground.title}: no room for the export as a file, so it is measured alone.`);
  return room;
}

function anyChosen(run: RowWriter, names: readonly string[]): boolean {
  return names.some((name) => run.chosen(name));
}

async function inFolder(folder: string, work: (folder: string) => Promise<void>): Promise<void> {
  await mkdir(folder);
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
