/**
 * The look-up of a board or a user that the scope hides costs as much as the look-up of one that
 * does not exist.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, mock, type TestContext } from 'node:test';
import { DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api';
import type { Dataset } from '../../../src/dataset/dataset.ts';
import type { Scope } from '../../../src/domain/scope.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { openPublished, publishRecords, type Records } from '../../dataset/small-world.ts';
import { makeFolder } from '../../ingest/temporary-folder.ts';

const COUNT = 5_000;
const IDS = Array.from({ length: COUNT }, (_, place) => BigInt(2 * place));
const WORLD: Records = {
  users: IDS.map((id) => ({
    ...{ id, email: `${id}@x.example`, name: `User ${id}`, lms: { sis: `S${id}` } },
  })),
  boards: IDS.map((id) => ({ id, title: `Board ${id}`, ltiId: `L${id}`, courseId: `C${id}` })),
  memberships: IDS.map((id) => ({ boardId: id, userId: id })),
};
const LISTED = IDS.slice(0, 50);
/** Outside the scope, and between the existing ids. */
const [HIDDEN, MISSING] = [5_000n, 5_001n];

type LookUp = (dataset: Dataset, scope: Scope, id: bigint) => Promise<unknown>;
const LOOK_UPS: Readonly<Record<string, LookUp>> = {
  'a board by id': (dataset, scope, value) => dataset.findBoard(scope, { by: 'id', value }),
  'a board by LTI id': (dataset, scope, id) => dataset.findBoard(scope, { by: 'lti', value: `L${id}` }),
  'a board by course id': (dataset, scope, id) => dataset.findBoard(scope, { by: 'course', value: `C${id}` }),
  'a user by id': (dataset, scope, value) => dataset.findUser(scope, { by: 'id', value }),
  'a user by LMS property': (dataset, scope, id) =>
    dataset.findUser(scope, { by: 'lms', property: 'sis', value: `S${id}` }),
};
const SCOPES: readonly Scope[] = [
  { boards: LISTED, users: 'of-boards' },
  { boards: LISTED, users: LISTED },
  { boards: [], users: [] },
];

type RowWriter = Parameters<DuckDBConnection['run']>;

interface Operator {
  readonly operator_name?: string;
  readonly operator_rows_scanned?: number;
  readonly operator_cardinality?: number;
  readonly children?: readonly Operator[];
}

interface Work {
  readonly name: string;
  readonly scanned: number;
  readonly made: number;
}

/** The rows that each operator of a statement scans and returns, as DuckDB counts them. */
async function workOf(connection: DuckDBConnection, [sql, ...values]: RowWriter): Promise<Work[]> {
  const result = await connection.run(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, ...values);
  const rows: DuckDBValue[][] = await result.getRows();
  const works: Work[] = [];
  const tell = ({ operator_name: name = '', children = [], ...counts }: Operator) => {
    const { operator_rows_scanned: scanned = 0, operator_cardinality: made = 0 } = counts;
    works.push({ name, scanned, made });
    for (const child of children) tell(child);
  };
  tell(JSON.parse(String(rows[0]?.[1])));
  return works;
}

async function openWorld(t: TestContext) {
  const folder = join(await makeFolder(t), 'data');
  const store = await openFolderStore(folder);
  await store.createOrganization('acme', {});
  await publishRecords(store, 'acme', WORLD);
  const dataset = await openPublished(store, 'acme');
  const file = join(folder, 'organizations', 'acme', 'generations', '1.duckdb');
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', threads: '1' });
  const connection = await instance.connect();
  t.after(async () => {
    connection.closeSync();
    instance.closeSync();
    await dataset.close();
    await store.close();
  });
  return { dataset, connection };
}

/** The statements that `act` runs. */
async function statementsOf(act: () => Promise<unknown>): Promise<RowWriter[]> {
  const run = mock.method(DuckDBConnection.prototype, 'run');
  try {
    await act();
    return run.mock.calls.map(({ arguments: given }) => given);
  } finally {
    run.mock.restore();
  }
}

it('ids out of scope are looked up by the same statements as missing ids, with the same work', async (t) => {
  const { dataset, connection } = await openWorld(t);
  for (const [name, lookUp] of Object.entries(LOOK_UPS)) {
    for (const scope of SCOPES) {
      const statements = async (id: bigint) =>
        await statementsOf(async () => assert.equal(await lookUp(dataset, scope, id), undefined));
      const [hidden, missing] = [await statements(HIDDEN), await statements(MISSING)];
      assert.deepEqual(
        hidden.map(([sql]) => sql),
        missing.map(([sql]) => sql),
      );
      for (const [place, statement] of hidden.entries()) {
        const others = await workOf(connection, missing[place]!);
        for (const [at, work] of (await workOf(connection, statement)).entries())
          assertSame(work, others[at]!, name);
      }
    }
  }
});

/** The two may differ only by the row of the hidden record. */
function assertSame(hidden: Work, missing: Work, name: string): void {
  const what = `${name}: ${hidden.name} makes ${hidden.made} and ${missing.made} rows`;
  assert.deepEqual([hidden.name, hidden.scanned], [missing.name, missing.scanned], what);
  assert.ok(hidden.made - missing.made <= 1, what);
}

it('ids inside the scope are found', async (t) => {
  const { dataset } = await openWorld(t);
  for (const lookUp of Object.values(LOOK_UPS)) {
    for (const scope of SCOPES.slice(0, 2)) assert.equal(await lookUp(dataset, scope, LISTED[7]!), 7);
  }
});
