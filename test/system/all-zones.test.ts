/** All zones of the operating system, as `zdump` reads them. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { it } from 'node:test';
import { openZoneFiles } from '../../src/system/zone-files.ts';
import { dumpZones, tableOf, whyWithoutZoneTools } from './zone-tables.ts';

const FOLDER = '/usr/share/zoneinfo';
const AREAS = /^(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Etc|Europe|Indian|Pacific)\//;

function names(): readonly string[] {
  try {
    const all = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' });
    return all.filter((name) => AREAS.test(name));
  } catch {
    return [];
  }
}

const skip = whyWithoutZoneTools() || (openZoneFiles(FOLDER) === undefined && 'the system has no zone files');

it('all zones of the system change when zdump says so, from 1900 to 2100', { skip }, () => {
  const rules = openZoneFiles(FOLDER)!;
  const zones = names().filter((name) => rules.find(name) !== undefined);
  assert.ok(zones.length > 400, `${zones.length} zones`);
  const dumped = dumpZones(FOLDER, zones, 1900, 2100);
  for (const name of zones) assert.deepEqual(tableOf(rules, name, 1900, 2100), dumped.get(name), name);
});
