/** Reads the values of an LMS property that a split can show (decision 104). */
import type { CommonValues } from '../../../dataset/common-values.ts';
import { FEWEST_USERS, type PermittedProperty } from '../../../domain/lms-split.ts';
import { slice } from '../../../system/time-slice.ts';
import { text } from '../../stored-values.ts';
import { type Database, integerColumn } from '../database.ts';

/** `users`: the number of users of the version. Other values never leave the database. */
export async function readCommonValues(
  database: Database,
  users: number,
  property: PermittedProperty,
): Promise<CommonValues> {
  const values = [''];
  for await (const chunk of database.stream(VALUES, { property })) {
    for (const value of chunk.getColumnValues(0)) values.push(text(value));
    if (slice.isOver()) await slice.pass();
  }
  const placeOf = new Int32Array(users);
  for await (const chunk of database.stream(PLACES, { property, rare: BigInt(values.length) })) {
    const [user, place] = [integerColumn(chunk, 0), integerColumn(chunk, 1)];
    for (let row = 0; row < user.length; row++) placeOf[user[row]!] = place[row]!;
    if (slice.isOver()) await slice.pass();
  }
  return { values, placeOf };
}

/** The value without a place is the empty one, at place 0; no row has it. */
const COMMON = `
  SELECT value, row_number() OVER (ORDER BY value) AS place FROM user_properties
  WHERE property = $property GROUP BY value HAVING count(*) >= ${FEWEST_USERS}`;
const VALUES = `SELECT value FROM (${COMMON}) ORDER BY place`;
const PLACES = `
  SELECT person, coalesce(place, $rare)::INTEGER
  FROM user_properties LEFT JOIN (${COMMON}) USING (value) WHERE property = $property`;
