/** An export that DuckDB or PostgreSQL reads and writes again is imported without a difference. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { Client } from 'pg';
import { exportBundle } from '../../src/export/export.ts';
import { importBundle } from '../../src/ingest/import.ts';
import { readParquet } from '../../src/store/version/parquet/parquet-reader.ts';
import { writeParquet } from '../../src/store/version/parquet/parquet-writer.ts';
import { openStation, type Station } from '../cli/stations.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { storeSettings } from '../model/deployment.ts';
import { newDatabase } from '../shared-servers.ts';
import { EMBEDDED } from '../storage.ts';
import { WORLD, WORLD_SETTINGS } from '../world.ts';

const NAME = 'Harbor';
const ENDINGS = { csv: 'csv', json: 'ndjson', parquet: 'parquet' } as const;
const FORMS = ['csv', 'json', 'parquet'] as const;
const FORMATS = ['ndjson', 'csv', 'parquet'] as const;
type ExportFormat = (typeof FORMATS)[number];

/** Whose offsets have hours, or hours and minutes. */
const ZONES = ['America/Lima', 'Asia/Kolkata', 'UTC'];
/** With 0 to 3 digits of a fraction. */
const MOMENTS = [1_740_823_200_000, 1_740_823_200_500, 1_740_823_200_250, 1_740_823_200_001];
const KINDS = ['users', 'boards', 'pins', 'events', 'memberships', 'points', 'adjustments'];

describe('an export', () => {
  let folder: string;
  let source: Station;
  let duckdb: DuckDBInstance;
  const exports = new Map<ExportFormat, string>();
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-databases-'));
    [source, duckdb] = await Promise.all([openStation(EMBEDDED), DuckDBInstance.create()]);
    await source.store.createOrganization(NAME, storeSettings(WORLD_SETTINGS));
    await source.load(NAME, WORLD);
    const { id: _id, ...event } = WORLD.events[0] ?? assert.fail();
    const more = MOMENTS.map((moment) => ({ ...event, timestamp: new Date(moment).toISOString() }));
    await source.load(NAME, { ...EMPTY_BUNDLE, events: more });
    for (const format of FORMATS) exports.set(format, await exported(source, format));
  });
  after(async () => {
    duckdb.closeSync();
    await source.close();
    await rm(folder, { recursive: true });
  });

  async function exported({ asPlace }: Station, format: ExportFormat): Promise<string> {
    const out = await mkdtemp(join(folder, 'export-'));
    await asPlace(async ({ store }) => {
      const original = await store.openRows(NAME);
      try {
        await exportBundle({ original, folder: out, format, compression: 'none', writeParquet });
      } finally {
        await original.close();
      }
    });
    return out;
  }

  async function newFolder(): Promise<string> {
    const out = await mkdtemp(join(folder, 'written-'));
    // PostgreSQL runs as a different user.
    await chmod(folder, 0o777);
    await chmod(out, 0o777);
    return out;
  }

  /** The imported records are exported again, and compared as texts. */
  async function checkImport(written: string): Promise<void> {
    const target = await openStation(EMBEDDED);
    try {
      const { settings } = await source.store.organization(NAME);
      await target.store.createOrganization(NAME, settings);
      const report = await importBundle({
        store: target.store,
        organization: NAME,
        paths: [written],
        readParquet,
      });
      assert.deepEqual(report.problems, []);
      const out = await exported(target, 'ndjson');
      for (const kind of KINDS) {
        const [again = '', original = ''] = await Promise.all(
          [out, exports.get('ndjson') ?? ''].map((place) => readFile(join(place, `${kind}.ndjson`), 'utf8')),
        );
        assert.equal(again, original, kind);
      }
    } finally {
      await target.close();
    }
  }

  async function withDuckdb<T>(zone: string, use: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const connection = await duckdb.connect();
    try {
      await connection.run(`SET TimeZone = '${zone}'`);
      return await use(connection);
    } finally {
      connection.closeSync();
    }
  }

  /** Names and types of the columns, which DuckDB can only guess in texts. */
  async function columnsOf(connection: DuckDBConnection, kind: string) {
    const rows = await connection.runAndReadAll(`DESCRIBE FROM '${exports.get('parquet')}/${kind}.parquet'`);
    return rows.getRowsJson().map(([name, type]) => [String(name), String(type)] as const);
  }

  /** The exported records. Lists are JSON in tables of texts. */
  async function queryOf(connection: DuckDBConnection, kind: string, format: ExportFormat, form: string) {
    const file = `'${exports.get(format)}/${kind}.${format}'`;
    const columns = await columnsOf(connection, kind);
    const types = columns.map(([name, type]) => `'${name}': '${type}'`).join(', ');
    const tables = {
      parquet: file,
      csv: `read_csv(${file}, types = {${types}})`,
      ndjson: `read_json(${file}, columns = {${types}})`,
    };
    const lists = kind === 'pins' && form === 'csv' ? ' REPLACE (to_json(tags) AS tags)' : '';
    return `SELECT *${lists} FROM ${tables[format]}`;
  }

  for (const [at, format] of FORMATS.entries()) {
    const zone = ZONES[at] ?? '';
    for (const form of FORMS) {
      it(`as ${format}, written by DuckDB as ${form} in ${zone}, is imported the same`, async () => {
        const out = await newFolder();
        await withDuckdb(zone, async (connection) => {
          for (const kind of KINDS) {
            const query = await queryOf(connection, kind, format, form);
            await connection.run(`COPY (${query}) TO '${out}/${kind}.${ENDINGS[form]}' (FORMAT ${form})`);
          }
        });
        await checkImport(out);
      });
    }
  }

  for (const zone of ZONES.slice(0, 2)) {
    it(`written by PostgreSQL as CSV in ${zone} is imported the same`, async () => {
      const out = await newFolder();
      const client = new Client(await newDatabase('empty'));
      await client.connect();
      try {
        await client.query(`SET TimeZone = '${zone}'`);
        for (const kind of KINDS) {
          const file = `${out}/${kind}.csv`;
          const columns = await withDuckdb(zone, async (connection) => {
            await connection.run(`COPY (${await queryOf(connection, kind, 'parquet', 'csv')}) TO '${file}'`);
            return (await columnsOf(connection, kind)).map(
              ([name, type]) => `"${name}" ${type.replace('VARCHAR[]', 'JSON')}`,
            );
          });
          await chmod(file, 0o666);
          await client.query(`CREATE TABLE ${kind} (${columns.join(', ')})`);
          await client.query(`COPY ${kind} FROM '${file}' CSV HEADER`);
          await client.query(`COPY ${kind} TO '${file}' CSV HEADER`);
        }
      } finally {
        await client.end();
      }
      await checkImport(out);
    });
  }
});
