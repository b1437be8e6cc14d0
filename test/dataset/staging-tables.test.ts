/** Records and columns that are appended to the staging tables are stored unchanged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventColumns, EventRecord, RecordKind, RecordOf } from '../../src/store/staging.ts';
import { Database } from '../../src/store/version/database.ts';
import { StagingTables } from '../../src/store/version/publish/staging-tables.ts';

/** The rows of a staging table after `append`, and after a flush unless that is left out. */
async function rowsOf(kind: RecordKind, append: (staging: StagingTables) => Promise<void>, flushes = true) {
  const database = await Database.open(':memory:', { readOnly: false, memoryBytes: 256e6, spillFolder: '' });
  try {
    const connection = await database.connect();
    const staging = await StagingTables.create(connection);
    await append(staging);
    if (flushes) staging.flush();
    const result = await connection.run(`SELECT * FROM staged_${kind} ORDER BY n`);
    const rows = await result.getRows();
    staging.close();
    connection.closeSync();
    return rows;
  } finally {
    database.close();
  }
}

const LARGE = 9_223_372_036_854_775_807n;
const text = (at: number) => (at % 7 === 0 ? undefined : at % 2 === 0 ? '' : `text ${at} ë\u{1f600}`);

test('staged records keep every value, absent ones included, and their order', async () => {
  const records: RecordOf['users'][] = Array.from({ length: 5000 }, (_, at) => ({
    file: at % 3,
    line: at,
    id: at % 2 === 0 ? LARGE - BigInt(at) : -BigInt(at),
    email: text(at),
    role: at % 5 === 0 ? undefined : `role ${at % 4}`,
    createdMs: at % 11 === 0 ? undefined : 1_500_000_000_000 - at * 10 ** 12,
    lms: at % 2 === 0 ? { sis: String(at) } : undefined,
    forgotten: at % 7 === 0 ? true : undefined,
    ...(at > 4096 ? { raw: `raw ${at}` } : {}),
  }));
  const rows = await rowsOf('users', (staging) => staging.append('users', records));
  const expected = records.map((user, at) => [
    ...[BigInt(at + 1), BigInt(user.file), BigInt(user.line), user.id, user.email ?? null],
    ...[null, null, null, user.role ?? null, null],
    user.createdMs === undefined ? null : BigInt(user.createdMs),
    user.lms === undefined ? null : JSON.stringify(user.lms),
    user.forgotten === undefined ? null : 1n,
    user.raw ?? null,
  ]);
  assert.deepEqual(rows, expected);
});

test('events as columns become the same rows as events as records', async () => {
  const count = 4500;
  const words = ['pin', 'board', 'visited', 'zoë'];
  const has = (every: number) => Uint8Array.from({ length: count }, (_, at) => (at % every === 0 ? 0 : 1));
  const ids = (first: bigint) => BigInt64Array.from({ length: count }, (_, at) => first - BigInt(at));
  const columns: EventColumns = {
    file: 3,
    count,
    lines: Int32Array.from({ length: count }, (_, at) => at + 2),
    words,
    types: has(4).map((pin) => 1 - pin),
    actions: Uint8Array.from({ length: count }, (_, at) => at % 4),
    hasIds: has(3),
    ids: ids(LARGE),
    ownerIds: ids(100n),
    actorIds: ids(-LARGE + 10_000n),
    boardIds: ids(1n),
    hasPins: has(4),
    pinIds: ids(0n),
    timestampsMs: ids(253_402_300_799_999n),
  };
  const records: EventRecord[] = Array.from({ length: count }, (_, at) => ({
    file: 3,
    line: at + 2,
    id: columns.hasIds[at] === 1 ? columns.ids[at] : undefined,
    type: words[columns.types[at] ?? 0] ?? '',
    action: words[at % 4] ?? '',
    ownerId: columns.ownerIds[at] ?? 0n,
    actorId: columns.actorIds[at] ?? 0n,
    boardId: columns.boardIds[at] ?? 0n,
    pinId: columns.hasPins[at] === 1 ? columns.pinIds[at] : undefined,
    timestampMs: Number(columns.timestampsMs[at]),
  }));
  const ofColumns = await rowsOf('events', async (staging) => {
    await staging.append('events', records.slice(0, 1));
    await staging.appendEvents(columns);
  });
  const ofRecords = await rowsOf('events', (staging) =>
    staging.append('events', [...records.slice(0, 1), ...records]),
  );
  assert.equal(ofColumns.length, count + 1);
  assert.deepEqual(ofColumns, ofRecords);
});

test('long texts leave the memory of the appender before it has many rows', async () => {
  const [texts, length] = [5, 8_000_000];
  const rows = await rowsOf(
    'pins',
    async (staging) => {
      for (let line = 1; line <= texts; line++) {
        const body = String(line).repeat(length);
        await staging.append('pins', [{ file: 0, line, id: BigInt(line), body }]);
      }
    },
    false,
  );
  assert.equal(rows.length, texts);
  const [last = []] = rows.slice(-1);
  assert.ok(last.some((cell) => cell === String(texts).repeat(length)));
});
