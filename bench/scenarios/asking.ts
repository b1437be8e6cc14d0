/** What the product and the comparable servers are asked alike: boards, and the export. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plan } from '../bed.ts';
import { type Download, download } from '../curl.ts';
import type { LoadFigures } from '../load.ts';
import { type MemoryAboveIdle, measureAboveIdle } from '../memory.ts';
import { median } from '../statistics.ts';

const ROUNDS = 3;
const SECONDS = 5;
const CONNECTIONS = 16;
/** An error of GraphQL comes with status 200, but is shorter. */
const LEAST_BYTES = 2000;
const EXPORT_TIMEOUT_MS = 120_000;

export type Small = Pick<LoadFigures, 'requestsPerSecond' | 'p50Ms' | 'p99Ms'>;

export interface Export {
  readonly totalMs: number;
  readonly firstByteMs: number;
  readonly memory: Pick<MemoryAboveIdle, 'sampledBytes'> | undefined;
}

/** What a server is asked, by whatever name it knows it. */
export interface Questions {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly exportLine: string;
  readonly boardLines: readonly string[];
  /** The processes whose memory counts, and that of all under them. */
  readonly roots: readonly number[];
  readonly folder: string;
}

export async function measureBoards(plan: Plan, questions: Questions): Promise<Small> {
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
export async function measureExport(
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
