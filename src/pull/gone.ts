/** Counts records that the server showed in the last pull, and no longer shows. */
import { hash } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { ID_FILES } from './bundle.ts';
import { keptLines } from './kept-lines.ts';

export interface Gone {
  readonly users: number;
  readonly boards: number;
  readonly points: number;
}

/** Maximum number of ids in memory. More ids are counted in several passes. */
const MOST_IDS = 1_000_000;

/**
 * Compares two folders of ids; `before` may be missing. The ids of forgotten users and of their
 * points are not counted.
 */
export async function countGone(
  before: string,
  now: string,
  forgotten: ReadonlySet<string>,
  mostIds = MOST_IDS,
): Promise<Gone> {
  const gone = { users: 0, boards: 0, points: 0 };
  if (!(await isThere(before))) return gone;
  for (const kind of ID_FILES) {
    const theirs = kind === 'boards' ? new Set<string>() : forgotten;
    gone[kind] = await countLeft(join(before, kind), join(now, kind), theirs, mostIds);
  }
  return gone;
}

async function countLeft(
  before: string,
  now: string,
  forgotten: ReadonlySet<string>,
  mostIds: number,
): Promise<number> {
  let ids = 0;
  for await (const lines of keptLines(before)) ids += lines.length;
  const passes = Math.ceil(ids / mostIds);
  let count = 0;
  for (let pass = 0; pass < passes; pass += 1) {
    const isOfPass = (id: string) => passes === 1 || passOf(id, passes) === pass;
    const left = new Set<string>();
    for await (const lines of keptLines(before)) for (const id of lines) if (isOfPass(id)) left.add(id);
    for await (const lines of keptLines(now)) for (const id of lines) left.delete(id);
    for (const id of left) if (!forgotten.has(id.split(' ', 1)[0] ?? '')) count += 1;
  }
  return count;
}

function passOf(id: string, passes: number): number {
  return Number.parseInt(hash('sha256', id).slice(0, 8), 16) % passes;
}

export function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
