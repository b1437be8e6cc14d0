#!/usr/bin/env bash
# DuckDB's date_trunc moves the first of two equal hours into the second, when clocks go back.
#
# Versions: DuckDB 1.5.5 (@duckdb/node-api 1.5.5-r.5).
# Expected: date_trunc('hour', t) of a TIMESTAMPTZ is at most one hour before t, and the two hours
#   from 02:00 to 03:00 of 2018-10-28 in Vienna are two groups, as with PostgreSQL 17.10.
# Seen: instants of the first hour (+02) become the start of the second (+01), which is later than
#   they are. Both hours are one group with all events, and the first has none. In Havana, where the
#   hour after midnight occurs twice, date_trunc('day', t) is also later than t, on the same date.
#   time_bucket with the name of the zone is right.
# Source: date_trunc of https://duckdb.org/docs/stable/sql/functions/timestamptz, run.
# For a user: count hours with time_bucket(INTERVAL 1 hour, t, 'Europe/Vienna'). Without the zone,
#   time_bucket counts hours of UTC, which are not those of a zone such as Asia/Kolkata.
#
# Output seen:
#   Europe/Vienna, t: 02:15+02, 02:45+02, 02:15+01, 02:45+01
#   Europe/Vienna, date_trunc: 02:00+01, 02:00+01, 02:00+01, 02:00+01
#   Europe/Vienna, time_bucket: 02:00+02, 02:00+02, 02:00+01, 02:00+01
#   America/Havana, t: 00:15-04, 00:15-05
#   America/Havana, date_trunc to days: 00:00-05, 00:00-05
#   Asia/Kolkata, t: 10:15+05:30, 10:45+05:30
#   Asia/Kolkata, time_bucket without a zone: 09:30+05:30, 10:30+05:30
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type": "module"}' >package.json
npm install --silent --no-audit --no-fund @duckdb/node-api@1.5.5-r.5
cat >hours.js <<'JS'
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
async function print(zone, instants, name, expression) {
  await connection.run(`SET TimeZone = '${zone}'`);
  const rows = [];
  for (const instant of instants) {
    const reader = await connection.runAndReadAll(
      `SELECT (${expression})::VARCHAR FROM (SELECT TIMESTAMPTZ '${instant}' AS t)`,
    );
    rows.push(reader.getRows()[0][0].slice(11).replace(/:00(?=[+-])/, ''));
  }
  console.log(`${zone}, ${name}: ${rows.join(', ')}`);
}
const vienna = ['00:15', '00:45', '01:15', '01:45'].map((time) => `2018-10-28 ${time}:00+00`);
const havana = ['04:15', '05:15'].map((time) => `2018-11-04 ${time}:00+00`);
const kolkata = ['04:45', '05:15'].map((time) => `2018-10-28 ${time}:00+00`);
await print('Europe/Vienna', vienna, 't', 't');
await print('Europe/Vienna', vienna, 'date_trunc', "date_trunc('hour', t)");
await print('Europe/Vienna', vienna, 'time_bucket', "time_bucket(INTERVAL 1 hour, t, 'Europe/Vienna')");
await print('America/Havana', havana, 't', 't');
await print('America/Havana', havana, 'date_trunc to days', "date_trunc('day', t)");
await print('Asia/Kolkata', kolkata, 't', 't');
await print('Asia/Kolkata', kolkata, 'time_bucket without a zone', 'time_bucket(INTERVAL 1 hour, t)');
JS
seen=$(node hours.js)
expected=$(sed -n '/^# Output seen:/,/^set /s/^#   //p' "$script")
echo "$seen"
[ "$seen" = "$expected" ]
