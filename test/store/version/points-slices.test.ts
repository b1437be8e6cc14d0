/** Points totals are the same from a version file whatever the slices in which they are read. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { collectRuns } from '../../../src/dataset/columns.ts';
import type { PointsQuery } from '../../../src/dataset/query.ts';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { Database } from '../../../src/store/version/database.ts';
import { readPointsSlices, streamPoints } from '../../../src/store/version/read/points-totals.ts';
import { publishRecords, type Records } from '../../dataset/small-world.ts';
import { makeFolder } from '../../ingest/temporary-folder.ts';

const [BOARDS, USERS] = [40, 60];
const ids = (count: number) => Array.from({ length: count }, (_, at) => BigInt((at * 7) % count) - 5n);
/** Board `b` has the first `b + 6` users, so the boards differ in size. */
const MEMBERSHIPS = ids(BOARDS).flatMap((boardId) =>
  ids(USERS)
    .filter((userId) => userId <= boardId)
    .map((userId) => ({ boardId, userId })),
);
const WORLD: Records = {
  users: ids(USERS).map((id) => ({ id, email: `${id}@x.example`, name: `User ${id}` })),
  boards: ids(BOARDS).map((id) => ({ id, title: `Board ${id}` })),
  memberships: MEMBERSHIPS,
  adjustments: MEMBERSHIPS.map((pair, at) => ({ ...pair, points: at, timestampMs: at * 1_000, reason: '' })),
};

const EVERYTHING: PointsQuery = { scope: FULL_SCOPE, range: {} };
const QUERIES: readonly PointsQuery[] = [
  EVERYTHING,
  { ...EVERYTHING, range: { startMs: 100_000, endMs: 400_000 } },
  { ...EVERYTHING, after: { boardId: 20n, userId: 3n } },
  { ...EVERYTHING, after: { boardId: 20n }, limit: 50 },
  { ...EVERYTHING, after: { boardId: -(2n ** 63n) } },
  { ...EVERYTHING, limit: 300 },
  { ...EVERYTHING, scope: { boards: [3n, 30n], users: 'of-boards' }, limit: 11 },
];

it('points totals are the same whatever the slices in which they are read', async (test) => {
  const folder = await makeFolder(test);
  const store = await openFolderStore(folder);
  await store.createOrganization('school', {});
  await publishRecords(store, 'school', WORLD);
  await store.close();
  const [path] = globSync(join(folder, '**/*.duckdb'));
  const options = { readOnly: true, memoryBytes: 512e6, spillFolder: join(folder, 'spilled') };
  const database = await Database.open(path!, options);
  const read = async (query: PointsQuery, slices: BigInt64Array) => {
    const batches = await collectRuns(streamPoints(database, query, async () => slices));
    return batches.flatMap(({ user, board, totalPoints }) =>
      Array.from(user, (who, row) => [who, board[row], totalPoints[row]]),
    );
  };
  const whole = await read(EVERYTHING, new BigInt64Array());
  assert.equal(whole.length, MEMBERSHIPS.length);
  for (const rows of [1, 10, 100, 131_072]) {
    const slices = await readPointsSlices(database, rows);
    assert.ok(rows === 131_072 ? slices.length === 0 : slices.length > MEMBERSHIPS.length / rows / 40);
    for (const query of QUERIES)
      assert.deepEqual(await read(query, slices), await read(query, new BigInt64Array()));
  }
  database.close();
});
