/**
 * Compares the product with the comparable servers: the export and the events of a board of the
 * same data, one server at a time.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Bed, type Ground, openBed, type Plan, prepareGround } from '../bed.ts';
import { boardIds, communityOf, writeCommunity } from '../community.ts';
import {
  installPeers,
  loadDatabase,
  PEERS,
  type Peer,
  QUOTED,
  readPeerVersion,
  startPeer,
} from '../peers.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { type Outcome, ratioOf } from '../rounds.ts';
import { bytes, duration, rate, ratio } from '../table.ts';
import { type Export, measureBoards, measureExport, type Questions, type Small } from './asking.ts';

const CORES = availableParallelism();
const SAME_BOARDS = 16;

type SmallOutcome = Outcome<keyof Small>;

/**
 * Outcomes of the same rounds: the product, the product with a process per core, and the other
 * server; for new requests and for repeated ones.
 */
interface Beside {
  readonly mine: readonly SmallOutcome[];
  readonly mineWide: readonly SmallOutcome[];
  readonly theirs: readonly SmallOutcome[];
}

export async function measurePeers(plan: Plan, events: number, folder: string): Promise<void> {
  const { report, signal } = plan;
  const community = communityOf(events);
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  await writeCommunity(bundle, community);
  const firstPath = `/a/v1/events/board/${boardIds(community)[0]}`;
  const { ground } = await prepareGround({ title: 'peers', community, folder, firstPath }, [bundle], signal);
  await using wide = await openBed(ground, signal, '--workers', String(CORES));
  await using bed = await openBed(ground, signal);
  const own = await measureOwn(plan, bed, wide);
  report.say('comparable servers: installing');
  try {
    await installPeers(signal);
  } catch (error) {
    report.remark(`The comparable servers could not be installed: ${firstLine(error)}`);
    return;
  }
  await using stack = new AsyncDisposableStack();
  const database = await openDatabase(bundle, signal).then(
    (opened) => stack.use(opened),
    (error: unknown) => firstLine(error),
  );
  if (typeof database !== 'string') await addOverPostgres(plan, ground, bundle, database, own);
  for (const peer of PEERS) await addPeer(plan, peer, ground, database, own);
  // Quoted values are comparable only with the same amount of data.
  if (!plan.quick) await addQuoted(plan, own);
}

/** The product, which is measured again beside each of the others. */
interface Own {
  readonly export: Export;
  /** New requests, and repeated ones. */
  readonly boards: readonly Questions[];
  /** With a process per core: the other servers, with their database, also use all cores. */
  readonly wideBoards: readonly Questions[];
}

async function measureOwn(plan: Plan, bed: Bed, wide: Bed): Promise<Own> {
  plan.report.say('comparable servers: corkboard');
  const questions = questionsTo(bed);
  const file = join(bed.folder, 'events.json');
  const own: Own = {
    export: await measureExport(plan, questions, file, bed.community.events),
    boards: anewAndGiven(questions),
    wideBoards: anewAndGiven(questionsTo(wide)),
  };
  const events = await readFile(file);
  await writeFile(
    join(bed.folder, 'database.json'),
    Buffer.concat([Buffer.from('{"events":'), events, Buffer.from('}')]),
  );
  const [uncached, ...others] = await measureBoards(plan, [...own.boards, ...own.wideBoards]);
  const title = `corkboard, ${bed.community.events.toLocaleString('en')} events, ${bytes(events.length)}`;
  const cells = ['1', ...exportCells(own.export), '1', '-', ...smallCells(uncached)];
  plan.report.addRow('peers', `${title}, rendered each time`, ...cells);
  const wideTitle = `corkboard --workers ${CORES}`;
  addOwnRow(plan, 'corkboard, given before', others[0]);
  addOwnRow(plan, `${wideTitle}, rendered each time`, others[1]);
  addOwnRow(plan, `${wideTitle}, given before`, others[2]);
  return own;
}

function addOwnRow(plan: Plan, title: string, small: SmallOutcome | undefined): void {
  plan.report.addRow('peers', title, ...Array<string>(6).fill('-'), ...smallCells(small));
}

function anewAndGiven(questions: Questions): readonly Questions[] {
  return [questions, { ...questions, boardLines: questions.boardLines.slice(0, SAME_BOARDS) }];
}

function questionsTo(bed: Bed): Questions {
  return {
    ...{ port: bed.server.port, headers: bed.product.headers, roots: [bed.server.pid] },
    folder: bed.folder,
    exportLine: '/a/v1/events',
    boardLines: boardIds(bed.community).map((board) => `/a/v1/events/board/${board}`),
  };
}

/**
 * The product over the database of the other servers, in its own schema: from memory, and without
 * data in memory.
 */
async function addOverPostgres(
  plan: Plan,
  about: Ground,
  bundle: string,
  database: Postgres,
  own: Own,
): Promise<void> {
  const { ground } = await prepareGround(about, [bundle], plan.signal, {
    database: database.url,
  });
  for (const [where, options] of [
    ['', []],
    [', straight', ['--resident-limit', '0']],
  ] as const) {
    plan.report.say(`comparable servers: corkboard over PostgreSQL${where}`);
    await using bed = await openBed(ground, plan.signal, ...options);
    const questions = { ...questionsTo(bed), roots: [bed.server.pid, database.pid] };
    const boards = await measureBeside(plan, own, anewAndGiven(questions));
    const file = join(ground.folder, 'export-over-postgres.json');
    const exported = await measureExport(plan, questions, file, ground.community.events);
    addCompared(plan, `corkboard over PostgreSQL${where}, rendered each time`, own, exported, boards);
    addOwnRow(plan, `corkboard over PostgreSQL${where}, given before`, boards.theirs[1]);
  }
}

/** A server that fails gets an empty row and a remark with the reason. */
async function addPeer(
  plan: Plan,
  peer: Peer,
  ground: Ground,
  database: Postgres | string,
  own: Own,
): Promise<void> {
  const { report, signal } = plan;
  report.say(`comparable servers: ${peer.title}`);
  try {
    if (peer.needsDatabase && typeof database === 'string') throw new Error(database);
    const opened = peer.needsDatabase && typeof database !== 'string' ? database : undefined;
    await using server = await startPeer(peer, opened?.url, join(ground.folder, 'database.json'), signal);
    const questions: Questions = {
      ...{ port: server.port, headers: {}, exportLine: peer.exportLine },
      boardLines: boardIds(ground.community).map(peer.boardLine),
      roots: [server.pid, ...(opened ? [opened.pid] : [])],
      folder: ground.folder,
    };
    const boards = await measureBeside(plan, own, [questions]);
    // Last, because not every server survives it.
    const file = join(ground.folder, 'export-of-peer.json');
    const exported = await measureExport(plan, questions, file, ground.community.events).catch(
      (error: unknown) => {
        if (signal.aborted) throw error;
        report.remark(`${peer.title}: the export does not finish: ${firstLine(error)}`);
        return undefined;
      },
    );
    addRow(plan, `${peer.title} ${readPeerVersion(peer)}`, own, exported, boards);
  } catch (error) {
    if (signal.aborted) throw error;
    report.remark(`${peer.title} could not be measured: ${firstLine(error)}`);
    report.addRow('peers', peer.title, ...Array<string>(9).fill('-'));
  }
}

/** Measures boards of the product and of a different server in the same rounds. */
async function measureBeside(plan: Plan, own: Own, theirs: readonly Questions[]): Promise<Beside> {
  const outcomes = await measureBoards(plan, [...own.boards, ...own.wideBoards, ...theirs]);
  return { mine: outcomes.slice(0, 2), mineWide: outcomes.slice(2, 4), theirs: outcomes.slice(4) };
}

/** Compares quoted values, which were measured elsewhere, with new ones of the product. */
async function addQuoted(plan: Plan, own: Own): Promise<void> {
  const { mine, mineWide } = await measureBeside(plan, own, []);
  const { small } = QUOTED;
  const theirs = [{ median: small, rounds: mine[0]!.rounds.map(() => small) }];
  addRow(plan, QUOTED.title, own, QUOTED.export, { mine, mineWide, theirs });
}

function addRow(plan: Plan, title: string, own: Own, exported: Export | undefined, boards: Beside): void {
  const { times, uncached, given } = addCompared(plan, title, own, exported, boards);
  const short = title.replace(/, measured.*\)/, ')');
  plan.report.setFigure(`peers/export, ${short}`, times);
  plan.report.setFigure(`peers/board rendered each time, ${short}`, uncached);
  plan.report.setFigure(`peers/board before, ${short}`, given);
}

/**
 * Returns how many times as fast the product with its embedded store is. For a server without a
 * response cache, repeated requests count as fast as new ones.
 */
function addCompared(
  plan: Plan,
  title: string,
  own: Own,
  exported: Export | undefined,
  { mine, mineWide, theirs }: Beside,
) {
  const times = exported && exported.totalMs / own.export.totalMs;
  const [theirAnew, theirGiven = theirAnew] = theirs;
  const timesOf = ([uncached, given]: readonly SmallOutcome[]) => ({
    uncached: ratioOf(uncached, theirAnew, 'requestsPerSecond'),
    given: ratioOf(given, theirGiven, 'requestsPerSecond'),
  });
  const [single, wide] = [timesOf(mine), timesOf(mineWide)];
  const both = (which: 'uncached' | 'given') => `${ratio(single[which])} / ${ratio(wide[which])}`;
  const cells = [ratio(times), ...exportCells(exported), both('uncached'), both('given')];
  plan.report.addRow('peers', title, ...cells, ...smallCells(theirAnew));
  return { times, ...single };
}

function exportCells(exported: Export | undefined): string[] {
  return [
    duration(exported?.totalMs),
    duration(exported?.firstByteMs),
    bytes(exported?.memory?.sampledBytes),
  ];
}

function smallCells(small: SmallOutcome | undefined): string[] {
  const { requestsPerSecond, p50Ms = Number.NaN, p99Ms } = small?.median ?? {};
  return [rate(requestsPerSecond), Number.isNaN(p50Ms) ? '-' : duration(p50Ms), duration(p99Ms)];
}

async function openDatabase(bundle: string, signal: AbortSignal): Promise<Postgres> {
  const database = await startPostgres(signal);
  try {
    await loadDatabase(bundle, database.url, signal);
    return database;
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0]!.slice(0, 200);
}
