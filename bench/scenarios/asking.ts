/** The same measurements for the product and the comparable servers: boards, and the export. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plan } from '../bed.ts';
import { type Download, download } from '../curl.ts';
import type { LoadFigures } from '../load.ts';
import { type MemoryAboveIdle, measureAboveIdle } from '../memory.ts';
import { measureRounds, type Outcome } from '../rounds.ts';
import { median } from '../statistics.ts';

const EXPORT_ROUNDS = 3;
const SECONDS = 2;
const CONNECTIONS = 16;
/** A GraphQL error has status 200, but is shorter than this. */
const LEAST_BYTES = 2000;
const EXPORT_TIMEOUT_MS = 120_000;

export type Small = Pick<LoadFigures, 'requestsPerSecond' | 'p50Ms' | 'p99Ms'>;

export interface Export {
  readonly totalMs: number;
  readonly firstByteMs: number;
  readonly memory: Pick<MemoryAboveIdle, 'sampledBytes'> | undefined;
}

/** The requests to a server, in its own form. */
export interface Questions {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly exportLine: string;
  readonly boardLines: readonly string[];
  /** The processes whose memory counts, including their descendants. */
  readonly roots: readonly number[];
  readonly folder: string;
}

/** Measures servers in turn in the same rounds, because the speed of a machine varies. */
export async function measureBoards(
  plan: Plan,
  asked: readonly Questions[],
): Promise<Outcome<keyof Small>[]> {
  // Some servers are slow for their first request.
  for (const one of asked) await download(await requestOf(plan, one, one.boardLines[0]!));
  const next = new Map<Questions, number>();
  const rounds = { count: plan.rounds, warm: plan.quick };
  return await measureRounds(asked, rounds, async (one) => {
    const first = next.get(one) ?? 0;
    const { requests, requestsPerSecond, p50Ms, p99Ms } = await plan.client.measure({
      ...{ port: one.port, headers: one.headers, paths: one.boardLines, first },
      ...{ status: 200, leastBytes: LEAST_BYTES, connections: CONNECTIONS },
      seconds: plan.quick ? 1 : SECONDS,
    });
    next.set(one, first + requests);
    return { requestsPerSecond, p50Ms, p99Ms };
  });
}

/**
 * Writes the first export to `file` and counts its events, measures memory during the second, and
 * times the others.
 */
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
  for (let round = 0; round < (plan.quick ? 1 : EXPORT_ROUNDS); round++)
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
