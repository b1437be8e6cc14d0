/** What docs/bi-tools.md says about time zones, run in DuckDB and PostgreSQL. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { Client } from 'pg';
import { type Interval, Periods } from '../../src/insights/periods.ts';
import { newDatabase } from '../shared-servers.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/bi-tools.md'), 'utf8');
const VIENNA = 'Europe/Vienna';
const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;
/** Two days around a change of clocks, or without one; years whose rules will not change. */
const NIGHTS = [
  { zone: VIENNA, from: '2018-10-27' },
  { zone: VIENNA, from: '2018-03-24' },
  { zone: 'America/New_York', from: '2018-11-03' },
  { zone: 'America/Sao_Paulo', from: '2018-02-17' },
  { zone: 'America/Havana', from: '2018-11-03' },
  { zone: 'Australia/Adelaide', from: '2018-03-31' },
  { zone: 'Asia/Kolkata', from: '2018-03-24' },
];
/** The two hours from 2 to 3 o'clock in Vienna, and their starts. */
const TWICE = [
  { at: '2018-10-28 00:30:00+00', hour: Date.parse('2018-10-28T00:00:00Z') },
  { at: '2018-10-28 01:30:00+00', hour: Date.parse('2018-10-28T01:00:00Z') },
];

let instance: DuckDBInstance;
let duckdb: DuckDBConnection;
let postgres: Client;
before(async () => {
  instance = await DuckDBInstance.create();
  duckdb = await instance.connect();
  postgres = new Client(await newDatabase('empty'));
  await postgres.connect();
});
after(async () => {
  duckdb.closeSync();
  instance.closeSync();
  await postgres.end();
});

type Database = 'DuckDB' | 'PostgreSQL';
const DATABASES: readonly Database[] = ['DuckDB', 'PostgreSQL'];

/** The values of the only column, as texts. */
async function valuesOf(database: Database, sql: string): Promise<readonly string[]> {
  const rows =
    database === 'DuckDB'
      ? (await duckdb.runAndReadAll(sql)).getRowsJson()
      : (await postgres.query({ text: sql, rowMode: 'array' })).rows;
  return rows.map(([value]) => String(value));
}

async function setZone(database: Database, zone: string): Promise<void> {
  const sql = `SET TimeZone = '${zone}'`;
  await (database === 'DuckDB' ? duckdb.run(sql) : postgres.query(sql));
}

/** An expression of the page, for a different zone. */
function shown(expression: string, zone: string): string {
  assert.ok(PAGE.includes(`\`${expression}\``), `docs/bi-tools.md shows ${expression}`);
  return expression.replaceAll(VIENNA, zone);
}

/** What an expression of `"timestamp"` gives for instants, as milliseconds since 1970. */
async function millisecondsOf(database: Database, expression: string, instants: readonly string[]) {
  const values = instants.map((at) => `(CAST('${at}' AS TIMESTAMP WITH TIME ZONE))`).join(', ');
  const sql = `SELECT CAST(extract(epoch FROM ${expression}) * 1000 AS BIGINT) FROM (VALUES ${values}) AS e("timestamp") ORDER BY "timestamp"`;
  return (await valuesOf(database, sql)).map(Number);
}

const LOCAL_DATE = `CAST("timestamp" AT TIME ZONE '${VIENNA}' AS date)`;
const LOCAL_HOUR = {
  DuckDB: `time_bucket(INTERVAL 1 hour, "timestamp", '${VIENNA}')`,
  PostgreSQL: `date_trunc('hour', "timestamp", '${VIENNA}')`,
};

/** The start of the period of each instant, as insights count it. */
async function startsOf(interval: Interval, zone: string, instants: readonly string[]) {
  const periods = new Periods(interval, zone);
  const starts: number[] = [];
  for (const at of instants) {
    const ms = Date.parse(at);
    await periods.reach(ms);
    starts.push(periods.startsMs[periods.placeOf(ms, 0)] ?? Number.NaN);
  }
  return starts;
}

/** The numbers of equal neighbours. */
function runLengths(values: readonly number[]): number[] {
  const lengths: number[] = [];
  values.forEach((value, at) => {
    if (at > 0 && value === values[at - 1]) lengths[lengths.length - 1]! += 1;
    else lengths.push(1);
  });
  return lengths;
}

for (const database of DATABASES) {
  describe(`${database}, by the expressions of the page`, () => {
    for (const { zone, from } of NIGHTS) {
      const first = Date.parse(`${from}T00:00:00Z`);
      const instants = Array.from({ length: (2 * DAY_MS) / QUARTER_MS }, (_, at) =>
        new Date(first + at * QUARTER_MS).toISOString(),
      );

      it(`has the hours and days of insights in ${zone} from ${from}`, async () => {
        // The expressions name the zone, so that of the session does not matter.
        await setZone(database, 'UTC');
        const hours = await millisecondsOf(database, shown(LOCAL_HOUR[database], zone), instants);
        assert.deepEqual(hours, await startsOf('hour', zone, instants));
        const dates = await millisecondsOf(database, shown(LOCAL_DATE, zone), instants);
        assert.deepEqual(runLengths(dates), runLengths(await startsOf('day', zone, instants)));
      });
    }
  });
}

describe('DuckDB', () => {
  const instants = TWICE.map(({ at }) => at);
  const hours = TWICE.map(({ hour }) => hour);

  it('moves both hours into the second by date_trunc when clocks go back, PostgreSQL does not', async () => {
    const truncated = `date_trunc('hour', "timestamp")`;
    for (const database of DATABASES) await setZone(database, VIENNA);
    assert.deepEqual(await millisecondsOf('PostgreSQL', truncated, instants), hours);
    assert.deepEqual(await millisecondsOf('DuckDB', truncated, instants), [hours[1], hours[1]]);
  });

  it('counts days and hours of UTC by time_bucket without a zone', async () => {
    await setZone('DuckDB', 'Asia/Kolkata');
    const [at = ''] = instants;
    const day = 'time_bucket(INTERVAL 1 day, "timestamp")';
    assert.deepEqual(await millisecondsOf('DuckDB', day, [at]), [Date.parse('2018-10-28T00:00:00Z')]);
    const hour = 'time_bucket(INTERVAL 1 hour, "timestamp")';
    assert.deepEqual(await millisecondsOf('DuckDB', hour, [at]), [hours[0]]);
    assert.deepEqual(await startsOf('hour', 'Asia/Kolkata', [at]), [hours[0]! + 2 * QUARTER_MS]);
  });
});

describe('PostgreSQL', () => {
  const NAMES = { CET: VIENNA, EET: 'Europe/Athens', MET: VIENNA, WET: 'Europe/Lisbon' };
  const NOON = `CAST('2018-07-01 12:00:00+00' AS TIMESTAMP WITH TIME ZONE)`;
  const local = (zone: string) => `SELECT CAST(${NOON} AT TIME ZONE '${zone}' AS text)`;

  for (const [name, zone] of Object.entries(NAMES)) {
    it(`takes ${name} for a fixed offset, but not as the zone of the session`, async () => {
      const [summer = ''] = await valuesOf('PostgreSQL', local(zone));
      const [fixed = ''] = await valuesOf('PostgreSQL', local(name));
      assert.equal(Date.parse(`${summer}Z`) - Date.parse(`${fixed}Z`), 4 * QUARTER_MS);
      assert.deepEqual(await valuesOf('DuckDB', local(name)), [summer]);
      await setZone('PostgreSQL', name);
      assert.deepEqual(await valuesOf('PostgreSQL', `SELECT CAST(CAST(${NOON} AS timestamp) AS text)`), [
        summer,
      ]);
    });
  }

  it('takes IST for the time of Israel, DuckDB for that of India', async () => {
    await setZone('PostgreSQL', 'UTC');
    assert.deepEqual(await valuesOf('PostgreSQL', local('IST')), ['2018-07-01 14:00:00']);
    assert.deepEqual(await valuesOf('DuckDB', local('IST')), ['2018-07-01 17:30:00']);
  });

  it('says whether it uses the zone data of the operating system', async () => {
    const [query = ''] = /SELECT setting FROM pg_config[^`]*/.exec(PAGE) ?? [];
    const [configured = ''] = await valuesOf('PostgreSQL', query);
    assert.match(configured, /--/);
  });
});

describe('both databases', () => {
  it('run the query that shows how old their zone data are', async () => {
    const [query = ''] = /SELECT TIMESTAMP WITH TIME ZONE '[^`]*/.exec(PAGE) ?? [];
    for (const database of DATABASES) {
      const [local = ''] = await valuesOf(database, `${query.replace('SELECT ', 'SELECT CAST(')} AS text)`);
      // Which of the two depends on the data.
      assert.match(local, /^2026-11-20 0[45]:00:00$/);
    }
  });
});
