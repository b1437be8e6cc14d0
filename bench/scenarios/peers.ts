/** The comparable servers beside the product: the export and a board's events of the same data, one server at a time. */
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
import { bytes, duration, rate, ratio } from '../table.ts';
import { type Export, measureBoards, measureExport, type Questions, type Small } from './asking.ts';

const CORES = availableParallelism();
const SAME_BOARDS = 16;

export async function measurePeers(plan: Plan, events: number, folder: string): Promise<void> {
  const { report, signal } = plan;
  const community = communityOf(events);
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  await writeCommunity(bundle, community);
  const firstPath = `/a/v1/events/board/${boardIds(community)[0]}`;
  const { ground } = await prepareGround({ title: 'peers', community, folder, firstPath }, [bundle], signal);
  const own = await measureOwn(plan, ground);
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
  // Quoted figures say something only about as much data.
  if (!plan.quick) addRow(plan, QUOTED.title, own, QUOTED.export, QUOTED.small);
}

interface OwnSmall {
  readonly anew: Small;
  readonly given: Small;
}

interface Own extends OwnSmall {
  readonly export: Export;
  /** With a process for each core: the others, with their database, make use of all cores too. */
  readonly wide: OwnSmall;
}

async function measureOwn(plan: Plan, ground: Ground): Promise<Own> {
  plan.report.say('comparable servers: corkboard');
  const wide = await measureWide(plan, ground);
  await using bed = await openBed(ground, plan.signal);
  const questions = questionsTo(bed);
  const own: Own = {
    wide,
    ...(await measureOwnSmall(plan, questions)),
    export: await measureExport(plan, questions, join(ground.folder, 'events.json'), ground.community.events),
  };
  const events = await readFile(join(ground.folder, 'events.json'));
  await writeFile(
    join(ground.folder, 'database.json'),
    Buffer.concat([Buffer.from('{"events":'), events, Buffer.from('}')]),
  );
  const size = bytes(events.length);
  const title = `corkboard, ${ground.community.events.toLocaleString('en')} events, ${size}`;
  plan.report.addRow(
    'peers',
    ...[`${title}, rendered anew`, '1', ...exportCells(own.export), '1', '-', ...smallCells(own.anew)],
  );
  addOwnRow(plan, 'corkboard, given before', own.given);
  const wideTitle = `corkboard --workers ${CORES}`;
  addOwnRow(plan, `${wideTitle}, rendered anew`, own.wide.anew);
  addOwnRow(plan, `${wideTitle}, given before`, own.wide.given);
  return own;
}

function addOwnRow(plan: Plan, title: string, small: Small): void {
  plan.report.addRow('peers', title, ...Array<string>(6).fill('-'), ...smallCells(small));
}

async function measureWide(plan: Plan, ground: Ground): Promise<OwnSmall> {
  await using bed = await openBed(ground, plan.signal, '--workers', String(CORES));
  return await measureOwnSmall(plan, questionsTo(bed));
}

async function measureOwnSmall(plan: Plan, questions: Questions): Promise<OwnSmall> {
  const boardLines = questions.boardLines.slice(0, SAME_BOARDS);
  return {
    anew: await measureBoards(plan, questions),
    given: await measureBoards(plan, { ...questions, boardLines }),
  };
}

function questionsTo(bed: Bed): Questions {
  return {
    ...{ port: bed.server.port, headers: bed.product.headers, roots: [bed.server.pid] },
    folder: bed.folder,
    exportLine: '/a/v1/events',
    boardLines: boardIds(bed.community).map((board) => `/a/v1/events/board/${board}`),
  };
}

/** Over the very database that the others ask, in a schema of its own: from memory, and straight. */
async function addOverPostgres(
  plan: Plan,
  about: Ground,
  bundle: string,
  database: Postgres,
  own: Own,
): Promise<void> {
  const { ground } = await prepareGround(about, [bundle], plan.signal, database.url);
  for (const [where, options] of [
    ['', []],
    [', straight', ['--resident-limit', '0']],
  ] as const) {
    plan.report.say(`comparable servers: corkboard over PostgreSQL${where}`);
    await using bed = await openBed(ground, plan.signal, ...options);
    const questions = { ...questionsTo(bed), roots: [bed.server.pid, database.pid] };
    const small = await measureOwnSmall(plan, questions);
    const file = join(ground.folder, 'export-over-postgres.json');
    const exported = await measureExport(plan, questions, file, ground.community.events);
    addCompared(plan, `corkboard over PostgreSQL${where}, rendered anew`, own, exported, small);
    addOwnRow(plan, `corkboard over PostgreSQL${where}, given before`, small.given);
  }
}

/** A server that does not do what it should is a row with the reason. */
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
    const small = await measureBoards(plan, questions);
    // Last, since not every server comes back from it.
    const file = join(ground.folder, 'export-of-peer.json');
    const exported = await measureExport(plan, questions, file, ground.community.events).catch(
      (error: unknown) => {
        if (signal.aborted) throw error;
        report.remark(`${peer.title}: the export does not finish: ${firstLine(error)}`);
        return undefined;
      },
    );
    addRow(plan, `${peer.title} ${readPeerVersion(peer)}`, own, exported, small);
  } catch (error) {
    if (signal.aborted) throw error;
    report.remark(`${peer.title} could not be measured: ${firstLine(error)}`);
    report.addRow('peers', peer.title, ...Array<string>(9).fill('-'));
  }
}

function addRow(plan: Plan, title: string, own: Own, exported: Export | undefined, small: Small): void {
  const { times, boards } = addCompared(plan, title, own, exported, { anew: small, given: small });
  const short = title.replace(/, measured.*\)/, ')');
  plan.report.setFigure(`peers/export, ${short}`, times);
  plan.report.setFigure(`peers/board anew, ${short}`, boards.anew);
  plan.report.setFigure(`peers/board before, ${short}`, boards.given);
}

/** How often the product with its embedded store is as fast. */
function addCompared(
  plan: Plan,
  title: string,
  own: Own,
  exported: Export | undefined,
  theirs: OwnSmall,
): { readonly times: number | undefined; readonly boards: Record<keyof OwnSmall, number> } {
  const times = exported && exported.totalMs / own.export.totalMs;
  const timesOf = (mine: OwnSmall, which: keyof OwnSmall) =>
    mine[which].requestsPerSecond / theirs[which].requestsPerSecond;
  const both = (which: keyof OwnSmall) =>
    `${ratio(timesOf(own, which))} / ${ratio(timesOf(own.wide, which))}`;
  const cells = [ratio(times), ...exportCells(exported), both('anew'), both('given')];
  plan.report.addRow('peers', title, ...cells, ...smallCells(theirs.anew));
  return { times, boards: { anew: timesOf(own, 'anew'), given: timesOf(own, 'given') } };
}

function exportCells(exported: Export | undefined): string[] {
  return [
    duration(exported?.totalMs),
    duration(exported?.firstByteMs),
    bytes(exported?.memory?.sampledBytes),
  ];
}

function smallCells(small: Small): string[] {
  return [
    rate(small.requestsPerSecond),
    Number.isNaN(small.p50Ms) ? '-' : duration(small.p50Ms),
    duration(small.p99Ms),
  ];
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
