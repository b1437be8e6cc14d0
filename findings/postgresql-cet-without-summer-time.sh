#!/usr/bin/env bash
# In PostgreSQL, CET has summer time in SET TimeZone, and none in AT TIME ZONE.
#
# Versions: PostgreSQL 18.7 (@electric-sql/pglite 0.5.17). 15.18, 17.10 and 18.4 do the same.
# Expected: pg_timezone_names lists CET, EET, MET and WET with the other zones. SET TimeZone and AT
#   TIME ZONE take the same names, so they give the same local time.
# Seen: AT TIME ZONE, and date_trunc with a zone, take these four names for abbreviations with a
#   fixed offset first: local times of summer are an hour early, and days begin an hour late. With
#   SET TimeZone, the same names have summer time. There is no warning. EST5EDT, which is no
#   abbreviation, has summer time in both.
# Source: https://www.postgresql.org/docs/current/datatype-datetime.html#DATATYPE-TIMEZONES says
#   that abbreviations are fixed offsets, and that SET TimeZone does not take them; not which of the
#   two is meant by a name that is both. Run.
# For a user: name zones by area and city (Europe/Vienna); days near midnight move otherwise.
#
# Output seen:
#   CET: SET TimeZone 14:00, AT TIME ZONE 13:00, day of date_trunc begins at 23:00 UTC
#   EET: SET TimeZone 15:00, AT TIME ZONE 14:00, day of date_trunc begins at 22:00 UTC
#   MET: SET TimeZone 14:00, AT TIME ZONE 13:00, day of date_trunc begins at 23:00 UTC
#   WET: SET TimeZone 13:00, AT TIME ZONE 12:00, day of date_trunc begins at 00:00 UTC
#   EST5EDT: SET TimeZone 08:00, AT TIME ZONE 08:00, day of date_trunc begins at 04:00 UTC
#   Europe/Vienna: SET TimeZone 14:00, AT TIME ZONE 14:00, day of date_trunc begins at 22:00 UTC
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type": "module"}' >package.json
npm install --silent --no-audit --no-fund @electric-sql/pglite@0.5.17
cat >zones.js <<'JS'
import { PGlite } from '@electric-sql/pglite';

const database = await PGlite.create();
for (const zone of ['CET', 'EET', 'MET', 'WET', 'EST5EDT', 'Europe/Vienna']) {
  await database.exec(`SET TimeZone = '${zone}'`);
  const { rows } = await database.query(`
    SELECT to_char(noon, 'HH24:MI') AS session, to_char(noon AT TIME ZONE '${zone}', 'HH24:MI') AS local,
      to_char(date_trunc('day', noon, '${zone}') AT TIME ZONE 'UTC', 'HH24:MI') AS day
    FROM (SELECT TIMESTAMPTZ '2018-07-01 12:00:00+00' AS noon) AS instants`);
  const [{ session, local, day }] = rows;
  console.log(`${zone}: SET TimeZone ${session}, AT TIME ZONE ${local}, day of date_trunc begins at ${day} UTC`);
}
await database.close();
JS
seen=$(node zones.js)
expected=$(sed -n '/^# Output seen:/,/^set /s/^#   //p' "$script")
echo "$seen"
[ "$seen" = "$expected" ]
