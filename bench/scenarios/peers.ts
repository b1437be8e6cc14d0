/** The comparable servers beside the product: the export and a board's events of the same data, one server at a time. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Ground, openBed, type Plan, prepareGround } from '../bed.ts';
import { boardIds, communityOf, writeCommunity } from '../community.ts';
import { type Download, download } from '../curl.ts';
import type { LoadFigures } from '../load.ts';
import { type MemoryAboveIdle, measureAboveIdle } from '../memory.ts';
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
import { median } from '../statistics.ts';
import { bytes, duration, rate, ratio } from '../table.ts';

const ROUNDS = 3;
const SECONDS = 5;
const CONNECTIONS = 16;
const SAME_BOARDS = 16;
/** An error of GraphQL comes with status 200, but is shorter. */
const LEAST_BYTES = 2000;
const EXPORT_TIMEOUT_MS = 120_000;

type Small = Pick<LoadFigures, 'requestsPerSecond' | 'p50Ms' | 'p99Ms'>;

interface Export {
  readonly totalMs: number;
  readonly firstByteMs: number;
  readonly memory: Pick<MemoryAboveIdle, 'sampledBytes'> | undefined;
}

/** What a server is asked, by whatever name it knows it. */
interface Questions {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly exportLine: string;
  readonly boardLines: readonly string[];
  /** The processes whose memory counts, and that of all under them. */
  readonly roots: readonly number[];
  readonly folder: string;
}

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
  for (const peer of PEERS) await addPeer(plan, peer, ground, database, own);
  // Quoted figures say something only about as much data.
  if (!plan.quick) addRow(plan, QUOTED.title, own, QUOTED.export, QUOTED.small);
}

interface Own {
  readonly export: Export;
  readonly anew: Small;
  readonly given: Small;
}

async function measureOwn(plan: Plan, ground: Ground): Promise<Own> {
  plan.report.say('comparable servers: corkboard');
  await using bed = await openBed(ground, plan.signal);
  const questions: Questions = {
    ...{ port: bed.server.port, headers: bed.product.headers, roots: [bed.server.pid] },
    folder: ground.folder,
    exportLine: '/a/v1/events',
    boardLines: boardIds(ground.community).map((board) => `/a/v1/events/board/${board}`),
  };
  const own: Own = {
    anew: await measureBoards(plan, questions),
    given: await measureBoards(plan, {
      ...questions,
      boardLines: questions.boardLines.slice(0, SAME_BOARDS),
    }),
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
  plan.report.addRow(
    'peers',
    ...['corkboard, given before', '-', '-', '-', '-', '-', '1', ...smallCells(own.given)],
  );
  return own;
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

async function measureBoards(plan: Plan, questions: Questions): Promise<Small> {
  const list: LoadFigures[] = [];
  // Some take long over their first question.
  await download(await requestOf(plan, questions, questions.boardLines[0]!));
  let first = 0;
  for (let round = 0; round <= (plan.quick ? 0 : ROUNDS); round++) {
    const figures = await plan.client.measure({
      ...{ port: questions.port, headers: questions.headers, paths: questions.boardLines, first },
      ...{ status: 200, leastBytes: LEAST_BYTES, connections: CONNECTIONS },
      seconds: plan.quick ? 1 : SECONDS,
    });
    first += figures.requests;
    // The first round warms up, where there is another.
    if (round > 0 || plan.quick) list.push(figures);
  }
  const of = (name: keyof LoadFigures) => median(list.map((figures) => figures[name]));
  return { requestsPerSecond: of('requestsPerSecond'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') };
}

/** The first export goes into `file` and is counted, the second is watched, the others are timed. */
async function measureExport(
  plan: Plan,
  questions: Questions,
  file: string,
  events: number,
): Promise<Export> {
  const request = () => requestOf(plan, questions, questions.exportLine);
  await download({ ...(await request()), file });
  const found = (await readFile(file)).toString('latin1').match(/"action": ?"/g)?.length ?? 0;
  if (found !== events) throw new Error(`it has ${found} of ${events} events`);
  const memory = await measureAboveIdle(questions.roots, async () => download(await request()));
  const rounds = [];
  for (let round = 0; round < (plan.quick ? 1 : ROUNDS); round++)
    rounds.push(await download(await request()));
  return {
    totalMs: median(rounds.map((one) => one.totalMs)),
    firstByteMs: median(rounds.map((one) => one.firstByteMs)),
    memory,
  };
}

/** A line with a body becomes a POST. */
async function requestOf(plan: Plan, questions: Questions, line: string): Promise<Download> {
  const [path, body] = line.split('\t');
  const bodyFile = join(questions.folder, 'question.json');
  if (body) await writeFile(bodyFile, body);
  return {
    ...{ url: `http://127.0.0.1:${questions.port}${path}`, headers: questions.headers },
    ...(body && { bodyFile }),
    signal: AbortSignal.any([plan.signal, AbortSignal.timeout(EXPORT_TIMEOUT_MS)]),
  };
}

function addRow(plan: Plan, title: string, own: Own, exported: Export | undefined, small: Small): void {
  const times = exported && exported.totalMs / own.export.totalMs;
  const anew = own.anew.requestsPerSecond / small.requestsPerSecond;
  const given = own.given.requestsPerSecond / small.requestsPerSecond;
  const cells = [ratio(times), ...exportCells(exported), ratio(anew), ratio(given), ...smallCells(small)];
  const short = title.replace(/, measured.*\)/, ')');
  plan.report.addRow('peers', title, ...cells);
  plan.report.setFigure(`peers/export, ${short}`, times);
  plan.report.setFigure(`peers/board anew, ${short}`, anew);
  plan.report.setFigure(`peers/board before, ${short}`, given);
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
