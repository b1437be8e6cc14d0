/** Digests of the rows of a copy and of a server, which do not depend on their order. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { CopyRow, LargePlace } from './copies.ts';
import { exportedEvents, exportedLists } from './exported.ts';

/** One text for each file that the copy has in a folder. */
export interface CopyDigest {
  /** By their months. */
  readonly events: Readonly<Record<string, string>>;
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
  ...{ events: {}, users: NOTHING, boards: NOTHING, points: NOTHING },
};

/** Whether each list and each month is as in one of the two. */
export function isMixtureOf(found: CopyDigest, one: CopyDigest, other: CopyDigest): boolean {
  const [parts, ...states] = [found, one, other].map(
    ({ events, ...lists }) => new Map(Object.entries({ ...events, ...lists })),
  );
  const names = new Set([...(parts?.keys() ?? []), ...states.flatMap((state) => [...state.keys()])]);
  return [...names].every((name) => states.some((state) => state.get(name) === parts?.get(name)));
}

/** The sums of the rows of each month, in UTC. */
class MonthSums {
  readonly #sums = new Map<string, RowSum>();

  add(row: CopyRow): void {
    const month = new Date(Number(row['timestamp'])).toISOString().slice(0, 7);
    const sum = this.#sums.get(month) ?? new RowSum();
    sum.add(row);
    this.#sums.set(month, sum);
  }

  get texts(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#sums].sort().map(([month, { text }]) => [month, text]));
  }
}

/** Without `sync_id`, which an export lacks. Tables that do not exist have no rows. */
export async function digestOfCopy(place: LargePlace): Promise<CopyDigest> {
  const events = new MonthSums();
  const ids = new Set<unknown>();
  for await (const { sync_id, ...row } of rowsIn(place, 'events')) {
    if (ids.size === ids.add(sync_id).size) throw new Error('a repeated event');
    events.add(row);
  }
  const lists = await Promise.all(
    ['users', 'boards', 'points'].map(async (table) => {
      const sum = new RowSum();
      for await (const row of rowsIn(place, table)) sum.add(row);
      return sum.text;
    }),
  );
  const [users = '', boards = '', points = ''] = lists;
  return { events: events.texts, users, boards, points };
}

async function* rowsIn(place: LargePlace, table: string): AsyncGenerator<CopyRow> {
  try {
    for await (const rows of place.read(table)) yield* rows;
  } catch (error) {
    if (!MISSING.test(String(error))) throw error;
  }
}

export async function digestOfServer(baseUrl: string, key: string): Promise<CopyDigest> {
  const events = new MonthSums();
  for await (const event of exportedEvents(baseUrl, key)) events.add(event);
  const lists = await exportedLists(baseUrl, key);
  const { users, boards, points } = lists;
  return { events: events.texts, users: sumOf(users), boards: sumOf(boards), points: sumOf(points) };
}

function sumOf(rows: readonly CopyRow[]): string {
  const sum = new RowSum();
  for (const row of rows) sum.add(row);
  return sum.text;
}
