/** The time zone rules of a server: those of a folder, what says so, and what depends on them. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { until } from '../server/stand.ts';
import { compileZones, SOURCES, whyWithoutZoneTools } from '../system/zone-tables.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { serving, stop } from './serving.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
const school = ['--organization', 'school', '--data', data];

/** When the weeks of the two events begin, before and after the change of the rules. */
const OLD_WEEKS = ['2026-11-09T00:00-06:00', '2026-11-09T00:00-06:00'];
const HEALED_WEEKS = ['2026-11-09T00:00-05:00', '2026-11-16T00:00-05:00'];

/** Two events around the midnight of Winnipeg that the rules of 2026f moved. */
function writeBundle(): string {
  const bundle = join(folder, 'bundle');
  mkdirSync(bundle);
  writeFileSync(join(bundle, 'users.csv'), 'id,email,name\n1,ada@x.example,Ada\n');
  writeFileSync(join(bundle, 'boards.csv'), 'id,title\n7,Chemistry\n');
  writeFileSync(
    join(bundle, 'events.csv'),
    [
      'id,type,action,timestamp,board_id,actor_id,owner_id',
      '1,board,visited,2026-11-15T12:00:00Z,7,1,1',
      '2,board,visited,2026-11-16T05:30:00Z,7,1,1\n',
    ].join('\n'),
  );
  return bundle;
}

/** Options for the rules before and after Winnipeg changed. */
function rulesOf(test: string): readonly [before: readonly string[], after: readonly string[]] {
  const words = (version: keyof typeof SOURCES) => [
    '--zone-data',
    compileZones(join(folder, `${version}-${test}`), SOURCES[version], version),
  ];
  return [words('2026c'), words('2026f')];
}

/** Imports the bundle with a policy that gives at most five points in a week of Winnipeg. */
async function importWithWeeks(place: string, zoneData: readonly string[]): Promise<void> {
  const policy = join(folder, 'policy.json');
  const weekStarts = { day: 'monday', time: '00:00', zone: 'America/Winnipeg' };
  const rules = [{ on: 'board.visited', to: 'actor', points: 5 }];
  writeFileSync(policy, JSON.stringify({ weeklyMaximum: 5, weekStarts, rules }));
  await runJson(['organizations', 'create', 'school', '--data', place]);
  await runJson(['organizations', 'configure', 'school', '--policy', policy, '--data', place]);
  await runJson(['import', join(folder, 'bundle'), '--organization', 'school', '--data', place, ...zoneData]);
}

describe('serve --zone-data', { skip: whyWithoutZoneTools() }, () => {
  it('has the days of these rules, says which they are, and changes the entity tags', async (t) => {
    await runJson(['import', writeBundle(), ...school]);
    const { key } = await runJson(['keys', 'create', ...school]);
    const seen: {
      readonly events: readonly number[];
      readonly etag: string | null;
      readonly hours: string;
    }[] = [];
    for (const version of ['2026c', '2026f'] as const) {
      const rules = compileZones(join(folder, version), SOURCES[version], version);
      const words = ['--data', data, '--workers', '1', '--admin-port', '0', '--zone-data', rules];
      const server = await serving(t, ['serve', ...words], 'Zone data');
      assert.equal(server.printed['Zone data'], version);
      const { origin } = new URL(server.printed['Variant A']!);
      const ask = (path: string) => fetch(`${origin}/insights/v1/${path}`, { headers: { apikey: key } });
      const days = await ask('activity?zone=America/Winnipeg');
      const { zoneData, series } = JSON.parse(await days.text());
      assert.equal(zoneData, version);
      const heat = JSON.parse(await (await ask('heat-map?zone=America/Winnipeg')).text());
      assert.equal(heat.zoneData, version);
      seen.push({
        events: series[0].events,
        etag: days.headers.get('etag'),
        hours: JSON.stringify(heat.hours),
      });
      const metrics = await (await fetch(new URL('/metrics', server.printed['Admin']))).text();
      assert.match(metrics, new RegExp(`^corkboard_zone_data_info\\{version="${version}"\\} 1$`, 'm'));
      await stop(server, 'SIGTERM');
      const check = await runJson(['check', '--data', data, '--zone-data', rules]);
      assert.equal(check.zoneData, version);
      const { stdout } = await run(['check', '--data', data, '--zone-data', rules]);
      assert.match(stdout, new RegExp(`^Time zone rules: ${version}\\.$`, 'm'));
    }
    assert.deepEqual(
      seen.map(({ events }) => events),
      [[2], [1, 1]],
    );
    assert.notEqual(seen[0]?.etag, seen[1]?.etag);
    assert.notEqual(seen[0]?.hours, seen[1]?.hours);
  });

  it('moves points into the weeks of newer rules with the next publication, and with a command', async () => {
    const [before, after] = rulesOf('points');
    const inPlace = (place: string) => ['--organization', 'school', '--data', join(folder, place)];
    const explain = async (place: string, ruled: readonly string[]) => {
      const ledger = ['points', 'explain', '--board', '7', '--user', '1'];
      const { lines, standing } = await runJson([...ledger, ...inPlace(place), ...ruled]);
      return [standing.totalPoints, lines.map(({ week }: { readonly week: string }) => week)];
    };
    const [old, healed] = [
      [5, OLD_WEEKS],
      [10, HEALED_WEEKS],
    ];
    const bundle = join(folder, 'bundle');
    for (const [place, heal] of [
      ['recomputed', ['points', 'recompute']],
      ['imported', ['import', bundle]],
    ] as const) {
      await importWithWeeks(join(folder, place), before);
      assert.deepEqual(await explain(place, before), old);
      const again = await runJson([...heal, ...inPlace(place), ...before]);
      assert.equal(again.published, false);
      const { published } = await runJson([...heal, ...inPlace(place), ...after]);
      assert.equal(published, true);
      assert.deepEqual(await explain(place, after), healed);
      assert.equal((await runJson([...heal, ...inPlace(place), ...after])).published, false);
      await runJson(['rollback', '--to', '1', ...inPlace(place), ...after]);
      assert.deepEqual(await explain(place, after), healed, 'after a rollback');
    }
    const { stdout } = await run(['points', 'recompute', ...inPlace('imported'), ...after]);
    assert.equal(
      stdout,
      'Nothing has changed: weeks begin at the same times by the time zone rules 2026f.\n',
    );
  });

  it('heals what clients read: points, the ledger of the console, and a synced copy', async (t) => {
    const [before, after] = rulesOf('clients');
    const place = join(folder, 'clients');
    await importWithWeeks(place, before);
    const words = ['--organization', 'school', '--data', place];
    const { key } = await runJson(['keys', 'create', ...words]);
    const server = await serving(t, ['serve', '--data', place, '--workers', '1', ...after]);
    const { origin } = new URL(server.printed['Variant A']!);
    const ask = async (path: string) =>
      JSON.parse(await (await fetch(`${origin}${path}`, { headers: { apikey: key } })).text());
    const copy = join(folder, 'copy.sqlite');
    const read = async () => {
      const { lines } = await ask('/insights/v1/boards/7/users/1/ledger');
      await runJson(['sync', `${origin}/a`, '--to', `sqlite:${copy}`, '--key', '-'], key);
      const database = new DatabaseSync(copy, { readOnly: true });
      const { total_points: copied } = { ...database.prepare('SELECT total_points FROM points').get() };
      database.close();
      return {
        total: (await ask('/a/v1/board/7/points'))['ada@x.example'].total_points,
        weeks: lines.map(({ week }: { readonly week: string }) => week),
        copied,
      };
    };
    // The same instants as before, by the clock of now.
    const weeks = OLD_WEEKS.map(() => '2026-11-09T01:00-05:00');
    assert.deepEqual(await read(), { total: 5, weeks, copied: 5 });
    await runJson(['points', 'recompute', ...words, ...after]);
    await until(async () => (await ask('/a/v1/board/7/points'))['ada@x.example'].total_points === 10);
    assert.deepEqual(await read(), { total: 10, weeks: HEALED_WEEKS, copied: 10 });
    await stop(server, 'SIGTERM');
  });

  it('names imports of local times that other rules read, and these correct them', async () => {
    const log = join(folder, 'log.csv');
    const rows = ['15/11/26, 10:00', '20/10/26, 10:00'].map(
      (time) =>
        `"${time}","Ada","-","Course: Chemistry","System","Course viewed","The user with id '3' viewed the course with id '7'.","web","1.2.3.4"`,
    );
    const header =
      'Time,"User full name","Affected user","Event context",Component,"Event name",Description,Origin,"IP address"';
    writeFileSync(log, `${[header, ...rows].join('\n')}\n`);
    const place = ['--data', join(folder, 'local')];
    const importLog = [
      'import',
      log,
      '--as',
      'moodle-log',
      '--time-zone',
      'America/Winnipeg',
      '--date-order',
      'dmy',
    ];
    const words = [...importLog, '--organization', 'school', ...place];
    const [before, after] = rulesOf('local');
    const timesOf = async () => {
      const out = join(folder, `exported-${Math.random()}`);
      await runJson(['export', out, '--organization', 'school', '--format', 'ndjson', ...place]);
      const lines = readFileSync(join(out, 'events.ndjson'), 'utf8').trimEnd().split('\n');
      return lines.map((line) => Date.parse(JSON.parse(line).timestamp)).sort();
    };
    const outdated =
      /Local times of America\/Winnipeg that school imported on \d{4}-\d\d-\d\d \(.*log\.csv\) were read with other time zone rules, which differ from 2026-11-01 on\. Import the files again: their events are corrected\./;
    const first = await run([...words, ...before]);
    assert.doesNotMatch(first.stderr, outdated);
    const october = Date.UTC(2026, 9, 20, 15);
    assert.deepEqual(await timesOf(), [october, Date.UTC(2026, 10, 15, 16)]);
    assert.doesNotMatch((await run(['check', ...place, ...before])).stdout, outdated);
    const check = await run(['check', ...place, ...after]);
    assert.equal(check.code, 0);
    assert.match(check.stdout, outdated);
    const other = join(folder, 'other.csv');
    writeFileSync(other, `${[header, rows[1]!.replace('10:00', '11:00')].join('\n')}\n`);
    const later = await run([...words.map((word) => (word === log ? other : word)), ...after]);
    assert.match(later.stderr, outdated);
    const again = await run([...words, ...after]);
    assert.equal(again.code, 0);
    assert.doesNotMatch(again.stderr, outdated);
    assert.deepEqual(await timesOf(), [october, Date.UTC(2026, 9, 20, 16), Date.UTC(2026, 10, 15, 15)]);
    assert.doesNotMatch((await run(['check', ...place, ...after])).stdout, outdated);
  });

  it('is refused if there are no rules', async () => {
    const { code, stderr } = await run(['check', '--data', data, '--zone-data', join(folder, 'missing')]);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /missing has no compiled time zone rules without leap seconds\. Install the package tzdata, or choose other/,
    );
  });
});
