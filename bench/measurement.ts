/** One data set from its import to its figures: product and baseline in turn, the same bytes, the same client. */
import { createWriteStream } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { BaselineAnswer } from './baseline.ts';
import type { Case, DataSet } from './cases.ts';
import type { ClientMessage, Load, LoadFigures } from './client.ts';
import { type Memory, readMemory } from './memory.ts';
import { ask, type Running, runCorkboard, startCorkboard, startModule } from './processes.ts';
import { median } from './statistics.ts';

const CONNECTIONS = 16;
/** Beyond the time that a load is to take. */
const PATIENCE_MS = 120_000;
const ORGANIZATION = 'bench';

export interface Plan {
  readonly rounds: number;
  /** How long a round of small requests lasts. */
  readonly roundMs: number;
  readonly signal: AbortSignal;
}

export interface CaseResult {
  readonly case: Case;
  readonly answerBytes: number;
  /** Medians over the rounds. */
  readonly product: LoadFigures;
  readonly baseline: LoadFigures;
  /** Median of the ratios, product to baseline, of the rounds. */
  readonly ratio: number;
  /** Of the server after the last round; the peak is that of all cases so far. */
  readonly memory: Memory | undefined;
}

export interface DataSetResult {
  readonly title: string;
  readonly events: number;
  readonly importMs: number;
  readonly importPeakBytes: number | undefined;
  /** Of the server, listening, before the first request. */
  readonly idle: Memory | undefined;
  readonly results: readonly CaseResult[];
}

/** `folder` is an empty folder for the bundle, the store and the answers. Absent when there is no such data here. */
export async function measureDataSet(
  dataSet: DataSet,
  folder: string,
  plan: Plan,
  say: (line: string) => void,
): Promise<DataSetResult | undefined> {
  const bundle = await dataSet.openBundle(await makeFolder(folder, 'bundle'));
  if (bundle === undefined) return undefined;
  const dataDir = await makeFolder(folder, 'data');
  say(`${dataSet.title}: importing`);
  const imported = await runCorkboard(
    ['import', bundle, '--organization', ORGANIZATION, '--data', dataDir, '--json'],
    plan.signal,
  );
  const events = await readNumber(dataDir, 'events', plan.signal);
  const key = await makeKey(dataDir, plan.signal);

  await using server = await startCorkboard(dataDir, plan.signal);
  const idle = readMemory(server.pid);
  const answers = new Map<string, BaselineAnswer>();
  for (const { path } of dataSet.cases) {
    const file = join(folder, `answer-${answers.size}`);
    if (answers.has(path)) continue;
    answers.set(path, await keepAnswer({ port: server.port, path, key }, file, plan.signal));
  }
  await using baseline = startModule('./baseline.ts', plan.signal);
  const baselinePort = await ask<number>(baseline, [...answers.values()], PATIENCE_MS);
  await using client = startModule('./client.ts', plan.signal);

  const results: CaseResult[] = [];
  for (const one of dataSet.cases) {
    say(`${dataSet.title}: ${one.title}`);
    const load = loadOf(one, answers.get(one.path)!, key, plan);
    const rounds = await measureRounds(client, load, server.port, baselinePort, plan.rounds);
    results.push({ ...summarize(one, rounds), answerBytes: load.bodyBytes, memory: readMemory(server.pid) });
  }
  return {
    title: dataSet.title,
    events,
    importMs: imported.elapsedMs,
    importPeakBytes: imported.peakBytes,
    idle,
    results,
  };
}

/** What a case is about: bytes for the large answers, requests for the small ones, per second. */
export function speed(one: Case, figures: LoadFigures): number {
  return one.large ? figures.bytesPerSecond : figures.requestsPerSecond;
}

interface Round {
  readonly product: LoadFigures;
  readonly baseline: LoadFigures;
}

/** One round before the others warms both up and is not counted. Who begins changes from round to round. */
async function measureRounds(
  client: Running,
  load: Omit<Load, 'port'>,
  productPort: number,
  baselinePort: number,
  count: number,
): Promise<Round[]> {
  const measure = async (port: number): Promise<LoadFigures> => {
    const message = await ask<ClientMessage>(client, { ...load, port }, load.durationMs + PATIENCE_MS);
    if ('failure' in message) throw new Error(message.failure);
    return message.figures;
  };
  const rounds: Round[] = [];
  for (let round = 0; round <= count; round++) {
    const first = await measure(round % 2 === 0 ? productPort : baselinePort);
    const second = await measure(round % 2 === 0 ? baselinePort : productPort);
    if (round === 0) continue;
    rounds.push(
      round % 2 === 0 ? { product: first, baseline: second } : { product: second, baseline: first },
    );
  }
  return rounds;
}

function loadOf(one: Case, answer: BaselineAnswer, key: string, plan: Plan): Omit<Load, 'port'> {
  return {
    path: one.path,
    headers: { apikey: key, ...(one.unchanged ? { 'if-none-match': answer.etag } : {}) },
    status: one.unchanged ? 304 : 200,
    bodyBytes: one.unchanged ? 0 : answer.byteLength,
    connections: one.large ? 1 : CONNECTIONS,
    durationMs: one.large ? 0 : plan.roundMs,
  };
}

function summarize(one: Case, rounds: readonly Round[]): Omit<CaseResult, 'answerBytes' | 'memory'> {
  return {
    case: one,
    product: medians(rounds.map((round) => round.product)),
    baseline: medians(rounds.map((round) => round.baseline)),
    ratio: median(rounds.map((round) => speed(one, round.product) / speed(one, round.baseline))),
  };
}

function medians(rounds: readonly LoadFigures[]): LoadFigures {
  const of = (name: keyof LoadFigures) => median(rounds.map((figures) => figures[name]));
  return {
    requests: of('requests'),
    requestsPerSecond: of('requestsPerSecond'),
    bytesPerSecond: of('bytesPerSecond'),
    firstByteMs: of('firstByteMs'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
  };
}

async function makeFolder(parent: string, name: string): Promise<string> {
  const path = join(parent, name);
  await mkdir(path);
  return path;
}

async function makeKey(dataDir: string, signal: AbortSignal): Promise<string> {
  const args = ['keys', 'create', '--organization', ORGANIZATION, '--data', dataDir, '--json'];
  const { key } = JSON.parse((await runCorkboard(args, signal)).stdout);
  return key;
}

async function readNumber(dataDir: string, name: string, signal: AbortSignal): Promise<number> {
  const args = ['organizations', 'show', ORGANIZATION, '--data', dataDir, '--json'];
  return JSON.parse((await runCorkboard(args, signal)).stdout)[name];
}

/** Asks the product once and keeps the answer in a file, for the baseline to send. */
async function keepAnswer(
  request: { readonly port: number; readonly path: string; readonly key: string },
  file: string,
  signal: AbortSignal,
): Promise<BaselineAnswer> {
  const { port, path, key } = request;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { apikey: key, 'accept-encoding': 'identity' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
  });
  if (response.status !== 200 || response.body === null) {
    throw new Error(`${path} answered ${response.status}.`);
  }
  await pipeline(response.body, createWriteStream(file));
  return {
    path,
    file,
    byteLength: (await stat(file)).size,
    contentType: response.headers.get('content-type') ?? '',
    etag: response.headers.get('etag') ?? '',
  };
}
