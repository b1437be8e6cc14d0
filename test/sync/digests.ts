/** Digests of the rows of a copy and of a server, which do not depend on their order. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { CopyRow, DatabasePlace } from './copies.ts';
import { exportedEvents, exportedLists } from './exported.ts';

/** One text for each table. */
export interface CopyDigest {
  readonly events: string;
  readonly users: string;
  readonly boards: string;
  readonly points: string;
}

/** The number of rows, and the sum of their digests: equal rows do not cancel each other. */
class RowSum {
  #columns: readonly string[] = [];
  #rows = 0;
  #sum = 0n;

  add(row: CopyRow): void {
    if (this.#rows === 0) this.#columns = Object.keys(row).sort();
    assert.equal(Object.keys(row).length, this.#columns.length, 'all rows have the same columns');
    const cells = this.#columns.map((column) => row[column] ?? null);
    const digest = hash('sha256', JSON.stringify(cells), 'buffer');
    this.#rows += 1;
    this.#sum += digest.readBigUInt64BE(0) + (digest.readBigUInt64BE(8) << 64n);
  }

  get text(): string {
    return `${this.#rows} rows of ${this.#columns.join()}: ${this.#sum.toString(16)}`;
  }
}

const MISSING = /does not exist|no such table|unable to open database file/;

/** A table without rows. */
const NOTHING = new RowSum().text;
export const EMPTY_DIGEST: CopyDigest = {
  ...{ events: NOTHING, users: NOTHING, boards: NOTHING, points: NOTHING },
};

/** Without `sync_id`, which an export lacks. Tables that do not exist have no rows. */
export async function digestOfCopy(place: DatabasePlace): Promise<CopyDigest> {
  const digestOf = async (table: string) => {
    const sum = new RowSum();
    const ids = new Set<unknown>();
    try {
      for await (const rows of place.read(table)) {
        for (const { sync_id, ...row } of rows) {
          if (sync_id !== undefined && ids.size === ids.add(sync_id).size)
            throw new Error('a repeated event');
          sum.add(row);
        }
      }
    } catch (error) {
      if (!MISSING.test(String(error))) throw error;
    }
    return sum.text;
  };
  return {
    events: await digestOf('events'),
    users: await digestOf('users'),
    boards: await digestOf('boards'),
    points: await digestOf('points'),
  };
}

export async function digestOfServer(baseUrl: string, key: string): Promise<CopyDigest> {
  const events = new RowSum();
  for await (const event of exportedEvents(baseUrl, key)) events.add(event);
  const lists = await exportedLists(baseUrl, key);
  const { users, boards, points } = lists;
  return { events: events.text, users: sumOf(users), boards: sumOf(boards), points: sumOf(points) };
}

function sumOf(rows: readonly CopyRow[]): string {
  const sum = new RowSum();
  for (const row of rows) sum.add(row);
  return sum.text;
}
