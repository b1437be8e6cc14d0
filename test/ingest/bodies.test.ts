/** Bodies of events from a file to an export, and what removes them (decision 105). */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ExportOptions, exportBundle } from '../../src/export/export.ts';
import { importBundle } from '../../src/ingest/import.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { readParquet } from '../../src/store/version/parquet/parquet-reader.ts';
import { writeParquet } from '../../src/store/version/parquet/parquet-writer.ts';
import { makeFolder } from './temporary-folder.ts';

const EVENT = { type: 'board', action: 'commented', owner_id: 1, board_id: 7 };
const BODIES = ['of Ann', undefined, 'a line,\nand "another"', '=SUM(A1) \u{1F642}'];
const EVENTS = BODIES.map((body, at) => ({
  ...{ id: at + 1, ...EVENT, actor_id: at === 2 ? 2 : 1, timestamp: 1_767_600_000_000 + at },
  ...(body !== undefined && { body }),
}));

const FILES = {
  'users.csv': 'id,email,name\n1,ann@x.example,Ann\n2,bob@x.example,Bob\n',
  'boards.csv': 'id,title\n7,Seven\n',
  'events.ndjson': EVENTS.map((event) => JSON.stringify(event)).join('\n'),
};

const WAYS: readonly Pick<ExportOptions, 'format' | 'compression'>[] = [
  { format: 'ndjson', compression: 'none' },
  { format: 'csv', compression: 'gzip' },
  { format: 'parquet', compression: 'none' },
];

describe('bodies of events in files', () => {
  let folder: string;
  let store: VersionStore;
  let exports = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-bodies-'));
    store = await openFolderStore(join(folder, 'data'));
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  async function load(organization: string, path: string) {
    const report = await importBundle({ store, organization, paths: [path], readParquet });
    assert.deepEqual(report.problems, []);
    return report;
  }

  async function exported(name: string, way = WAYS[0]!): Promise<string> {
    const target = join(folder, `export-${exports++}`);
    const original = await store.openRows(name);
    try {
      await exportBundle({ original, folder: target, ...way, writeParquet });
    } finally {
      await original.close();
    }
    return target;
  }

  /** By id; absent without a body. */
  async function bodiesOf(name: string): Promise<Readonly<Record<number, string | undefined>>> {
    const text = await readFile(join(await exported(name), 'events.ndjson'), 'utf8');
    const events: readonly { id: number; body?: string }[] = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return Object.fromEntries(events.map(({ id, body }) => [id, body]));
  }

  const given = Object.fromEntries(BODIES.map((body, at) => [at + 1, body]));

  for (const way of WAYS) {
    it(`come out of an export as ${way.format} and an import as they were`, async (test) => {
      const name = `from-${way.format}`;
      await load(name, await makeFolder(test, FILES));
      assert.deepEqual(await bodiesOf(name), given);
      const copied = await exported(name, way);
      assert.equal((await load(name, copied)).outcome, 'unchanged');
      await load(`to-${way.format}`, copied);
      assert.deepEqual(await bodiesOf(`to-${way.format}`), given);
    });
  }

  it('stay if a later file has no column for them', async (test) => {
    await load('without', await makeFolder(test, FILES));
    const lines = EVENTS.map(({ body: _body, ...event }) => Object.values(event).join(','));
    const csv = `${['id,type,action,owner_id,board_id,actor_id,timestamp', ...lines].join('\n')}\n`;
    const { outcome } = await load('without', await makeFolder(test, { 'events.csv': csv }));
    assert.equal(outcome, 'unchanged');
    assert.deepEqual(await bodiesOf('without'), given);
  });

  it('are those of the record after a deletion', async (test) => {
    await load('deleted', await makeFolder(test, FILES));
    const lines = [
      { id: 1, deleted: true },
      { ...EVENTS[0], body: undefined },
    ];
    const events = lines.map((line) => JSON.stringify(line)).join('\n');
    const { changes } = await load('deleted', await makeFolder(test, { 'events.ndjson': events }));
    assert.deepEqual(changes?.events, { added: 1, changed: 0, unchanged: 0, deleted: 1 });
    assert.deepEqual(await bodiesOf('deleted'), { ...given, 1: undefined });
  });

  it('are no longer in any file of the organization once their author is forgotten', async (test) => {
    const secret = 'words that only Bob wrote';
    const events = JSON.stringify({ ...EVENTS[2], id: 9, body: secret });
    await load('forgetting', await makeFolder(test, { ...FILES, 'events-more.ndjson': events }));
    assert.equal((await bodiesOf('forgetting'))[9], secret);
    assert.equal(await isStored('forgetting', secret), true);
    const user = '{"id":2,"email":"b@x.example","name":"Bob","forgotten":true}\n';
    await load('forgetting', await makeFolder(test, { 'users.ndjson': user }));
    assert.deepEqual(await bodiesOf('forgetting'), { 1: given[1], 2: given[2], 4: given[4] });
    assert.equal(await isStored('forgetting', secret), false);
  });

  async function isStored(organization: string, text: string): Promise<boolean> {
    const organizations = join(folder, 'data', 'organizations', organization);
    const files = await readdir(organizations, { recursive: true, withFileTypes: true });
    const contents = files
      .filter((file) => file.isFile())
      .map((file) => readFile(join(file.parentPath, file.name)));
    return (await Promise.all(contents)).some((content) => content.includes(text));
  }
});
