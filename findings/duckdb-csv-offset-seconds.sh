#!/usr/bin/env bash
# DuckDB's CSV shifts instants from before standard time, by up to a minute.
#
# Versions: DuckDB 1.5.5 (@duckdb/node-api 1.5.5-r.5).
# Expected: a column of the type TIMESTAMPTZ that COPY writes to CSV and read_csv reads again, in
#   the same session, has the same instants, as with Parquet.
# Seen: instants from before the zone of the session had standard time change. Their local mean
#   time has an offset with seconds (+09:18:59 in Tokyo). The CSV has the local time to the second
#   and the offset to the minute, so the instant that is read is up to 59 seconds later or earlier.
#   It is no matter of display: comparing the two columns shows it. In UTC nothing changes.
# Source: COPY and read_csv of https://duckdb.org/docs/stable/data/csv/overview, run; the text was
#   read off the file.
# For a user: dates from before standard time (of archives, digitized registers) must be copied as
#   Parquet, or as CSV in a session with SET TimeZone = 'UTC'.
#
# Output seen:
#   Asia/Tokyo 1880: 1880-01-01 21:18:59+09:18, 59 seconds later
#   Asia/Kolkata 1880: 1880-01-01 17:21:10+05:21, 10 seconds later
#   America/New_York 1880: 1880-01-01 07:03:58-04:56, 2 seconds earlier
#   Asia/Tokyo 2020: 2020-01-01 21:00:00+09, the same
#   UTC 1880: 1880-01-01 12:00:00+00, the same
#   Parquet, Asia/Tokyo 1880: the same
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type": "module"}' >package.json
npm install --silent --no-audit --no-fund @duckdb/node-api@1.5.5-r.5
cat >copy.js <<'JS'
import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
async function copied(zone, year, format) {
  const file = `all.${format}`;
  await connection.run(`SET TimeZone = '${zone}'`);
  await connection.run(`CREATE OR REPLACE TABLE t AS SELECT '${year}-01-01T12:00:00Z'::TIMESTAMPTZ AS at`);
  await connection.run(`COPY t TO '${file}'`);
  const columns = format === 'csv' ? ", types = {'at': 'TIMESTAMPTZ'}" : '';
  const reader = await connection.runAndReadAll(
    `SELECT (epoch(c.at) - epoch(t.at))::INTEGER FROM t, read_${format}('${file}'${columns}) c`,
  );
  const seconds = reader.getRows()[0][0];
  return seconds === 0 ? 'the same' : `${Math.abs(seconds)} seconds ${seconds > 0 ? 'later' : 'earlier'}`;
}
for (const [zone, year] of [['Asia/Tokyo', 1880], ['Asia/Kolkata', 1880], ['America/New_York', 1880], ['Asia/Tokyo', 2020], ['UTC', 1880]]) {
  const result = await copied(zone, year, 'csv');
  console.log(`${zone} ${year}: ${readFileSync('all.csv', 'utf8').split('\n')[1]}, ${result}`);
}
console.log(`Parquet, Asia/Tokyo 1880: ${await copied('Asia/Tokyo', 1880, 'parquet')}`);
JS
seen=$(node copy.js)
expected=$(sed -n '/^# Output seen:/,/^set /s/^#   //p' "$script")
echo "$seen"
[ "$seen" = "$expected" ]
