/**
 * The files of access records in a folder: one chain for each process that has served, in numbered
 * files whose names have the start and the id of the process.
 */
import { join } from 'node:path';
import { type ChainedRecord, readChained } from './audit-record.ts';
import type { StoredLine } from './audit-trail.ts';
import { ChainCheck, type ChainReport } from './check-trail.ts';
import { linesOf, namesIn, numberedFiles } from './line-files.ts';

const NAME = /^(access-(\d{13})-\d+-)\d+\.ndjson$/;
const TIME_DIGITS = 13;

/** The names of all files of a process begin with this. */
export function accessPrefix(startMs: number, processId: number): string {
  return `access-${String(startMs).padStart(TIME_DIGITS, '0')}-${processId}-`;
}

interface AccessChain {
  readonly prefix: string;
  readonly startMs: number;
}

/** A record with its line. */
export interface ReadAccess {
  readonly line: StoredLine;
  /** Absent if the line was changed. */
  readonly record: ChainedRecord | undefined;
}

/** In the order of their starts. */
function chainsIn(folder: string): readonly AccessChain[] {
  const starts = new Map<string, number>();
  for (const name of namesIn(folder)) {
    const [, prefix, start] = NAME.exec(name) ?? [];
    if (prefix !== undefined) starts.set(prefix, Number(start));
  }
  return Array.from(starts, ([prefix, startMs]) => ({ prefix, startMs })).sort(
    (one, other) => one.startMs - other.startMs || (one.prefix < other.prefix ? -1 : 1),
  );
}

async function* linesIn(folder: string, { prefix }: AccessChain): AsyncGenerator<StoredLine> {
  for (const { name } of numberedFiles(folder, prefix)) {
    for await (const { text, number, isComplete } of linesOf(join(folder, name))) {
      yield { text, place: `${name}, line ${number}`, isComplete, sequence: undefined };
    }
  }
}

/** Verifies the chain of every process. Missing records at the end of a chain cannot be noticed. */
export async function checkAccess(folder: string, report: ChainReport): Promise<void> {
  for (const chain of chainsIn(folder)) {
    const note = (message: string) => report.note(`${chain.prefix}*.ndjson: ${message}`);
    const check = new ChainCheck({ damage: report.damage, note });
    // The end of a file that is being written is no damage.
    for await (const line of linesIn(folder, chain)) if (line.isComplete) check.take(line);
  }
}

interface OpenChain {
  readonly lines: AsyncIterator<ReadAccess>;
  next: ReadAccess;
  timeMs: number;
}

/**
 * The records of all processes, oldest first. Only the chains of processes that served at the same
 * time are open together.
 */
export async function* readAccess(folder: string): AsyncGenerator<ReadAccess> {
  const waiting = [...chainsIn(folder)];
  const open = new Set<OpenChain>();
  for (;;) {
    let first = earliest(open);
    while (waiting[0] !== undefined && waiting[0].startMs <= (first?.timeMs ?? Infinity)) {
      const opened = await begin(readLines(folder, waiting.shift()!));
      if (opened !== undefined) open.add(opened);
      first = earliest(open);
    }
    if (first === undefined) return;
    yield first.next;
    if (!(await advance(first))) open.delete(first);
  }
}

async function* readLines(folder: string, chain: AccessChain): AsyncGenerator<ReadAccess> {
  for await (const line of linesIn(folder, chain)) {
    // The end of a file that is being written.
    if (line.isComplete) yield { line, record: readChained(line.text) };
  }
}

async function begin(lines: AsyncGenerator<ReadAccess>): Promise<OpenChain | undefined> {
  const { value, done } = await lines.next();
  return done === true ? undefined : { lines, next: value, timeMs: timeOf(value, 0) };
}

async function advance(chain: OpenChain): Promise<boolean> {
  const { value, done } = await chain.lines.next();
  if (done === true) return false;
  chain.next = value;
  chain.timeMs = timeOf(value, chain.timeMs);
  return true;
}

/** A changed line is where the one before it is. */
function timeOf({ record }: ReadAccess, beforeMs: number): number {
  const timeMs = Date.parse(String(record?.members['time']));
  return Number.isNaN(timeMs) ? beforeMs : timeMs;
}

function earliest(open: ReadonlySet<OpenChain>): OpenChain | undefined {
  let first: OpenChain | undefined;
  for (const chain of open) if (first === undefined || chain.timeMs < first.timeMs) first = chain;
  return first;
}
