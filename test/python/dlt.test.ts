/**
 * The dlt source of the Python package keeps a table that equals a fresh export, through
 * corrections, deletions, erasures and a changed key: in dlt with DuckDB, and by the rules of dlt
 * in `python/tests/dlt_rules.py`.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from '../cli/command.ts';
import { type Bundle, type BundleRecords, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { lacking, runBlock, runs } from '../recipes/blocks.ts';

const PACKAGE = join(import.meta.dirname, '../../python');
const PYTHON = process.env['CORKBOARD_PYTHON'] ?? 'python3';
const needsPython = lacking(['Python', () => runs(PYTHON, '--version')]);
const needsDlt = lacking(['dlt for Python', () => runs(PYTHON, '-c', 'import dlt, duckdb')]);

const EVENT = { type: 'board', action: 'visited', owner_id: 1n, board_id: 7n };
const BIG = 9_007_199_254_740_993n;

const FIRST: Bundle = {
  ...EMPTY_BUNDLE,
  users: [1n, 2n, 3n, BIG].map((id) => ({ id, email: `u${id}@example.org`, name: `Given ${id}` })),
  boards: [
    { id: 7n, title: 'Seven' },
    { id: 8n, title: 'Eight' },
  ],
  pins: [{ id: 70n, board_id: 8n, owner_id: 2n, title: 'Pin', body: 'zwölf', tags: ['a', 'b'] }],
  events: [1n, 2n, 3n, BIG, 1n, 2n, 3n].map((actor, index) => ({
    ...EVENT,
    ...{ id: BigInt(index + 1), actor_id: actor, timestamp: `2018-03-0${index + 1}T10:00:00.125Z` },
    ...(index % 2 === 0 ? {} : { type: 'pin', action: 'created', board_id: 8n, pin_id: 70n }),
  })),
};

type Json = { readonly [name: string]: Json } & (readonly Json[] | string | number | null);

for (const [manner, skip] of [
  ['rules', needsPython],
  ['dlt', needsPython || needsDlt],
] as const) {
  describe(`a table that the dlt source keeps (${manner})`, { skip }, () => {
    const organization = `school-${manner}`;
    const folder = join(temporaryFolder(), manner);
    let deployment: Deployment;
    let key: string;
    before(async () => {
      mkdirSync(folder);
      deployment = await openDeployment();
      await deployment.load(organization, FIRST);
      key = await deployment.makeKey(organization);
    });
    after(() => deployment.close());

    const read = (path: string) => get(`${deployment.url}/a/v1/${path}`, key);

    /** Imports a bundle, and waits until its version is served. */
    async function publish(bundle: BundleRecords): Promise<void> {
      const etag = async () => (await read('events')).headers.get('etag');
      const old = await etag();
      assert.ok((await deployment.load(organization, bundle)).published);
      while ((await etag()) === old) await delay(20);
    }

    /** Runs the source; its rows must be those of a fresh export, also after failed runs. */
    async function check(...failure: ['cut' | 'changed'] | []): Promise<readonly string[]> {
      const variables = {
        CORKBOARD_URL: `${deployment.url}/a`,
        CORKBOARD_KEY: key,
        PYTHONPATH: PACKAGE,
        RUNTIME__DLTHUB_TELEMETRY: 'false',
      };
      const script = join(PACKAGE, 'tests/dlt_copy.py');
      const { code, stdout, stderr } = await runBlock(
        [PYTHON, script, manner, folder, ...failure],
        folder,
        variables,
      );
      assert.equal(code, 0, stderr);
      const rows = stdout.split('\n').slice(0, -1).toSorted();
      assert.deepEqual(rows, await freshRows());
      return rows;
    }

    async function freshRows(): Promise<readonly string[]> {
      const { text } = await read('events?since=start&format=ndjson');
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => rowOf(JSON.parse(exact(line))))
        .toSorted();
    }

    it('has all events after the first run, and the same after runs without changes', async () => {
      assert.equal((await check()).length, 7);
      assert.equal((await check()).length, 7);
    });

    it('continues with the last token after runs that were cut or in which the scope changed', async () => {
      for (const failure of ['cut', 'changed'] as const) {
        await publish({ ...EMPTY_BUNDLE, boards: [{ id: 7n, title: `Seven, ${failure}` }] });
        assert.match((await check(failure)).join(), new RegExp(`Seven, ${failure}`));
      }
    });

    it('takes new, late and corrected events', async () => {
      const added = { ...EVENT, id: 20n, actor_id: 2n, timestamp: '2001-01-01T00:00:00Z' };
      await publish({ ...EMPTY_BUNDLE, events: [added] });
      assert.equal((await check()).length, 8);
      await publish({ ...EMPTY_BUNDLE, boards: [{ id: 8n, title: 'Renamed' }] });
      assert.match((await check()).join(), /Renamed/);
    });

    it('loses deleted events', async () => {
      await publish({ ...EMPTY_BUNDLE, events: [{ id: 5n, deleted: true }] as never });
      assert.equal((await check()).length, 7);
    });

    it('loses the events of erased users', async () => {
      const erased = { id: 2n, email: 'u2@example.org', name: 'Given 2', forgotten: true as const };
      await publish({ ...EMPTY_BUNDLE, users: [erased] });
      const rows = (await check()).join();
      assert.doesNotMatch(rows, /Given 2/);
      assert.match(rows, /Given 3/);
    });

    it('starts again when the key sees something else', async () => {
      await deployment.keyring.configure(key.split('_')[1] ?? '', () => ({
        scope: { boards: [7n], users: 'all' },
      }));
      const rows = await check();
      assert.ok(rows.length > 0);
      assert.doesNotMatch(rows.join(), /Renamed/);
    });

    it('can become empty', async () => {
      await deployment.keyring.configure(key.split('_')[1] ?? '', () => ({
        scope: { boards: [404n], users: 'all' },
      }));
      assert.deepEqual(await check(), []);
    });
  });
}

/** Identifiers beyond 2^53 as text, which `rowOf` turns back. */
function exact(line: string): string {
  return line.replaceAll(/(?<="(?:\w+_)?id":)-?\d+/g, '"#$&"');
}

const PERSON = ['id', 'email', 'name', 'role', 'class_role'];
const PIN = ['id', 'activity', 'title', 'body', 'web_url', 'image_url', 'tags'];

/** The values of the columns in their order, as Python writes them. */
function rowOf(event: Json): string {
  const of = (section: string, names: readonly string[]) =>
    names.map((name) => {
      const value = event[section]?.[name] ?? null;
      return Array.isArray(value) ? JSON.stringify(value) : value;
    });
  const values = [
    ...[event['sync_id'], event['type'], event['action']],
    ...[...of('owner', PERSON), ...of('actor', PERSON)],
    ...of('organization', ['id', 'name', 'domain', 'category_id']),
    ...[...of('pin', PIN), ...of('board', ['id', 'title', 'category']), event['timestamp']],
  ];
  const cells = values.map((value) => JSON.stringify(value).replace(/^"#(-?\d+)"$/, '$1'));
  return `[${cells.join(', ')}]`.replaceAll(/[\u0080-\uffff]/g, escaped);
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
