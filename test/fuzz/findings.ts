/**
 * Failed cases, grouped by kind of failure; the first of each group is written to files that can be
 * replayed.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Found } from './session.ts';
import { sortOf } from './target.ts';

const WRITTEN_OF_A_SORT = 3;

interface Group {
  readonly first: Found;
  readonly files: string[];
  count: number;
}

export class Findings {
  readonly #folder: string;
  readonly #groups = new Map<string, Group>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns whether it is the first of its group. */
  add(found: Found): boolean {
    const sort = `${found.target}: ${sortOf(found)}`;
    const group = this.#groups.get(sort) ?? { first: found, files: [], count: 0 };
    this.#groups.set(sort, group);
    group.count += 1;
    if (group.files.length < WRITTEN_OF_A_SORT) {
      const path = this.#write(found);
      if (!group.files.includes(path)) group.files.push(path);
    }
    return group.count === 1;
  }

  get sorts(): number {
    return this.#groups.size;
  }

  render(): string {
    const groups = [...this.#groups.values()].sort((one, other) => other.count - one.count);
    return groups
      .map(
        ({ first, count, files }) =>
          `${count} × ${first.target}, ${first.kind}: ${first.what}\n    ${files.join('\n    ')}\n`,
      )
      .join('');
  }

  #write(found: Found): string {
    mkdirSync(this.#folder, { recursive: true });
    const kind = found.kind.replaceAll(' ', '-');
    const path = join(this.#folder, `${found.target}-${found.seed}-${found.number}-${kind}.json`);
    writeFileSync(path, `${JSON.stringify(found, null, 1)}\n`);
    return path;
  }
}

/** Reads a case from its file. Throws an error with a full sentence if the file contains none. */
export function readFinding(path: string): Found {
  const found: Found = JSON.parse(readFileSync(path, 'utf8'));
  if (found.one === undefined || typeof found.target !== 'string') throw new Error(`${path} holds no case.`);
  return found;
}
