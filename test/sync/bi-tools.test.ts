/** The queries of docs/bi-tools.md and docs/sync.md, on a copy of the demo in each target. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { run, temporaryFolder } from '../cli/command.ts';
import { serving } from '../cli/serving.ts';
import {
  type CopyPlace,
  type CopyRow,
  DATABASES,
  type DatabasePlace,
  PARQUET,
  queryFiles,
} from './copies.ts';

const folder = temporaryFolder();
const DOCUMENTS = join(import.meta.dirname, '../../docs');
const QUERIES = ['bi-tools.md', 'sync.md'].flatMap((document) => {
  const text = readFileSync(join(DOCUMENTS, document), 'utf8');
  const blocks = [...text.matchAll(/^```sql\n(.*?)^```$/gms)];
  return blocks
    .map(([, code = ''], at) => ({ name: `query ${at + 1} of ${document}`, code }))
    .filter(({ code }) => !/read_parquet|ATTACH/.test(code));
});
const places: DatabasePlace[] = [];
const ends: (() => void)[] = [];
let printed: Readonly<Record<string, string>> = {};
before(async () => {
  const demo = await serving(
    { after: (end) => ends.push(end) },
    ['demo', '--data', join(folder, 'data')],
    'Key',
  );
  printed = demo.printed;
  for (const kind of DATABASES) {
    const place = await kind.make(folder);
    await syncTo(place);
    places.push(place);
  }
});
async function syncTo({ address }: CopyPlace): Promise<void> {
  const environment = { CORKBOARD_SYNC_KEY: printed['Key'] ?? '' };
  const { code, stderr } = await run(['sync', printed['Variant A'] ?? '', '--to', address], { environment });
  assert.equal(code, 0, stderr);
}

after(() => ends.forEach((end) => void end()));

describe('the queries of the documents', () => {
  it('are found', () => assert.ok(QUERIES.length >= 7));

  for (const { name, code } of QUERIES) {
    it(`${name} has the same result in every database`, async () => {
      const [first = [], ...others] = await Promise.all(places.map((place) => place.query(code)));
      assert.ok(first.length > 0);
      for (const other of others) assert.deepEqual(comparable(other), comparable(first));
    });
  }

  it('on Parquet files has a row for each month', async () => {
    const page = readFileSync(join(DOCUMENTS, 'sync.md'), 'utf8');
    const [, code = ''] = /^```sql\n([^`]*read_parquet.*?)^```$/ms.exec(page) ?? [];
    const copy = await PARQUET.make(folder);
    await syncTo(copy);
    const events = await copy.rows('events');
    const months = Map.groupBy(events, ({ timestamp }) =>
      new Date(Number(timestamp)).toISOString().slice(0, 7),
    );
    assert.deepEqual(
      (await queryFiles(code.replace("'school/", `'${copy.path}/`))).map(({ month, events: count }) => [
        ...[month, Number(count)],
      ]),
      [...months]
        .map(([month, of]) => [month, of.length])
        .filter(([month = '']) => month >= '2012-01')
        .sort(),
    );
  });

  it('on a version file has the days of a copy', async () => {
    const page = readFileSync(join(DOCUMENTS, 'bi-tools.md'), 'utf8');
    const [, code = ''] = /^```sql\n(ATTACH .*?)^```$/ms.exec(page) ?? [];
    const data = join(folder, 'data');
    const listed = await run(['versions', 'list', '--data', data, '--json']);
    const versions: readonly { publication: number }[] = JSON.parse(listed.stdout);
    const current = Math.max(...versions.map(({ publication }) => publication));
    const file = join(folder, 'version.duckdb');
    copyFileSync(join(data, 'organizations/demo/generations', `${current}.duckdb`), file);
    const days = await queryFiles(code.replace(/'[^']+\.duckdb'/, `'${file}'`));
    const [place] = places;
    const copied = await place?.query(code.replace(/^ATTACH.*\nUSE.*\n/, '').replace('bi.', ''));
    assert.ok(days.length > 100);
    assert.deepEqual(comparable(days), comparable(copied ?? []));
  });

  it('count what the events say', async () => {
    const [place] = places;
    const events = (await place?.rows('events')) ?? [];
    const queries = QUERIES.map(({ code }) => code);
    const results = await Promise.all(queries.map(async (code) => (await place?.query(code)) ?? []));
    const fresh = results.flat().find((row) => 'latest' in row && 'events' in row) ?? {};
    assert.equal(Number(fresh['latest']), Math.max(...events.map(({ timestamp }) => Number(timestamp))));
    assert.equal(Number(fresh['events']), events.length);
    const users = results.find((rows) => rows.some((row) => 'actions' in row && 'email' in row)) ?? [];
    const latest = users.map((row) => (row['latest'] === null ? -Infinity : Number(row['latest'])));
    assert.deepEqual(
      latest,
      latest.toSorted((one, other) => (one < other ? -1 : Number(one > other))),
    );
    assert.ok(new Set(latest).size > 2);
    const listed = new Set(users.map(({ id }) => id));
    assert.equal(
      users.reduce((sum, { actions }) => sum + Number(actions), 0),
      events.filter(({ actor_id }) => listed.has(actor_id)).length,
    );
  });
});

/** Numbers have different types for sums, and instants are texts in SQLite. */
function comparable(rows: readonly CopyRow[]): unknown[] {
  return rows.map((row) =>
    Object.entries(row).map(([name, value]) => {
      if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return [name, Date.parse(value)];
      const isNumber =
        typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
      return [name, isNumber ? Number(Number(value).toFixed(6)) : value];
    }),
  );
}
