/** The mixed load of a soak: loops that send one kind of request each, until they are stopped. */
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Marks } from './batches.ts';
import type { Consistency, Share } from './consistency.ts';
import { type ParsedRequest, type RenderedBody, read } from './reading.ts';

const PAUSE_MS = 5;
/** Further failures would add no information. */
const MOST_FAILURES = 20;

export interface Keys {
  readonly full: string;
  /** Sees the first two marked boards. */
  readonly scoped: string;
  /** Sees pseudonyms instead of names and addresses. */
  readonly redacting: string;
}

interface Loop {
  readonly name: string;
  readonly ask: (turn: number) => ParsedRequest;
  readonly check: (answer: RenderedBody, question: ParsedRequest) => void;
  /** Number of parallel loops. */
  readonly times?: number;
}

export interface LoopFigures {
  readonly name: string;
  readonly latenciesMs: number[];
  bytes: number;
  unchanged: number;
}

export interface Load {
  readonly figures: readonly LoopFigures[];
  readonly failures: readonly string[];
  readonly ended: Promise<unknown>;
}

export function startLoad(
  port: number,
  keys: Keys,
  marks: Marks,
  consistency: Consistency,
  signal: AbortSignal,
): Load {
  const agent = new Agent({ keepAlive: true });
  const failures: string[] = [];
  const running = loopsOf(keys, marks, consistency).map((loop) => {
    const figures: LoopFigures = { name: loop.name, latenciesMs: [], bytes: 0, unchanged: 0 };
    const runs = Array.from({ length: loop.times ?? 1 }, (_, offset) =>
      repeat(loop, offset, figures, { port, agent, failures, signal }),
    );
    return { figures, runs };
  });
  const ended = Promise.all(running.flatMap(({ runs }) => runs)).finally(() => agent.destroy());
  return { figures: running.map(({ figures }) => figures), failures, ended };
}

interface Surroundings {
  readonly port: number;
  readonly agent: Agent;
  readonly failures: string[];
  readonly signal: AbortSignal;
}

async function repeat(loop: Loop, offset: number, figures: LoopFigures, around: Surroundings): Promise<void> {
  const tags = new Map<string, string>();
  for (let turn = offset; !around.signal.aborted; turn++) {
    const asked = loop.ask(turn);
    // One request in four is conditional.
    const etag = turn % 4 === 3 ? tags.get(asked.path) : undefined;
    const question = etag ? { ...asked, etag } : asked;
    try {
      const answer = await read(around.port, around.agent, question);
      figures.latenciesMs.push(answer.elapsedMs);
      figures.bytes += answer.bytes;
      if (answer.status === 304 && etag !== undefined) {
        figures.unchanged++;
        if (answer.etag !== etag) throw new Error('304 came with another tag than was asked with');
      } else if (answer.status !== 200) {
        throw new Error(`status ${answer.status}: ${answer.text.slice(0, 200)}`);
      } else {
        loop.check(answer, question);
        tags.set(asked.path, answer.etag);
      }
    } catch (error) {
      if (around.failures.length < MOST_FAILURES) {
        around.failures.push(`${loop.name}: ${error instanceof Error ? error.message : error}`);
      }
    }
    await pause(PAUSE_MS);
  }
}

function loopsOf(keys: Keys, marks: Marks, consistency: Consistency): Loop[] {
  const events = (
    name: string,
    share: Share,
    question: Omit<ParsedRequest, 'path'>,
    redacted = false,
  ): Loop => ({
    name,
    ask: () => ({ path: '/a/v1/events', ...question }),
    check: (answer) => {
      consistency.checkEvents(name, answer, share);
      if (redacted && answer.plainAddress) throw new Error('an address is where a pseudonym should be');
    },
  });
  const boardOf = (turn: number) => marks.boards[turn % marks.boards.length]!;
  const ofBoard = (name: string, key: string, among: number): Loop => ({
    name,
    ask: (turn) => ({ path: `/a/v1/events/board/${marks.boards[turn % among]}`, key }),
    check: (answer, { path }) => consistency.checkEvents(`${name} ${path}`, answer, 'board'),
    times: 2,
  });
  return [
    { ...events('export, plain', 'export', { key: keys.full }), times: 2 },
    events('export, gzip', 'export', { key: keys.full, encoding: 'gzip' }),
    events('export, zstd', 'export', { key: keys.full, encoding: 'zstd' }),
    events('export, NDJSON', 'export', { key: keys.full, accept: 'application/x-ndjson' }),
    events('export, scoped key', 'scoped', { key: keys.scoped }),
    events('export, scoped key, gzip', 'scoped', { key: keys.scoped, encoding: 'gzip' }),
    events('export, redacting key', 'export', { key: keys.redacting }, true),
    events('export, redacting key, gzip', 'export', { key: keys.redacting, encoding: 'gzip' }, true),
    ofBoard('board', keys.full, marks.boards.length),
    ofBoard('board, scoped key', keys.scoped, 2),
    {
      name: 'user',
      ask: () => ({ path: `/a/v1/events/user/${marks.user}`, key: keys.full, encoding: 'gzip' }),
      check: (answer) => consistency.checkEvents('user', answer, 'user'),
    },
    {
      name: "a board's points",
      ask: (turn) => ({ path: `/a/v1/board/${boardOf(turn)}/points`, key: keys.full }),
      check: (answer, { path }) =>
        consistency.checkPoints(path, answer, Number(/board\/(\d+)/.exec(path)?.[1])),
      times: 2,
    },
  ];
}
