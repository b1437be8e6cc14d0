/** The tables and views of a copy as programs of others see them: columns, content, privileges. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { knownZone } from '../../src/system/zones.ts';
import { run, temporaryFolder } from '../cli/command.ts';
import { openWorld, type World } from '../world.ts';
import { COLUMNS, ZONE_COLUMNS } from './columns.ts';
import { type CopyRow, DATABASES, type DatabasePlace } from './copies.ts';
import { sortedTexts } from './exported.ts';

const folder = temporaryFolder();
const VIEWS = ['activity_daily', 'event_tags'] as const;
let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.close());

async function syncTo({ address }: DatabasePlace, ...words: readonly string[]) {
  const environment = { CORKBOARD_SYNC_KEY: world.keys.full };
  return await run(['sync', `${world.url}/b`, '--to', address, ...words], { environment });
}

async function syncWell(place: DatabasePlace, ...words: readonly string[]): Promise<void> {
  const { code, stderr } = await syncTo(place, ...words);
  assert.equal(code, 0, stderr);
}

const dropped = VIEWS.map((view) => `DROP VIEW ${view};`).join(' ');

for (const kind of DATABASES) {
  describe(`a copy in ${kind.name}`, () => {
    it('has the documented columns, with their types', async () => {
      const place = await kind.make(folder);
      await syncWell(place);
      for (const [relation, columns] of Object.entries(COLUMNS)) {
        const expected = columns.map(([name, duckdb, sqlite, postgres]) => [
          name,
          { DuckDB: duckdb, SQLite: sqlite, PostgreSQL: postgres }[kind.name],
        ]);
        assert.deepEqual(Object.entries(await place.columns(relation)), expected, relation);
      }
    });

    it('has views that count and join what its events say', async () => {
      const place = await kind.make(folder);
      await syncWell(place);
      const events = await place.rows('events');
      assert.deepEqual(sortedTexts(await place.rows('activity_daily')), sortedTexts(counted(events)));
      const tags = events.flatMap(({ sync_id, pin_id, pin_tags }) =>
        ((pin_tags ?? []) as readonly string[]).map((tag) => ({ sync_id, pin_id, tag })),
      );
      assert.ok(tags.length > 0);
      assert.deepEqual(sortedTexts(await place.rows('event_tags')), sortedTexts(tags));
    });

    it('has the local days and hours of zones, by the rules of the server', async () => {
      const place = await kind.make(folder);
      const zones = ['America/St_Johns', 'Pacific/Apia', 'UTC'];
      await syncWell(place, ...zones.flatMap((zone) => ['--zone', zone]));
      for (const [relation, columns] of Object.entries(ZONE_COLUMNS)) {
        const expected = columns.map(([name, duckdb, sqlite, postgres]) => [
          name,
          { DuckDB: duckdb, SQLite: sqlite, PostgreSQL: postgres }[kind.name],
        ]);
        assert.deepEqual(Object.entries(await place.columns(relation)), expected, relation);
      }
      const events = await place.rows('events');
      const times = events.flatMap((event) =>
        zones.map((zone): CopyRow => {
          const local = new Date(knownZone(zone).localOf(Number(event['timestamp']))).toISOString();
          const [day, hour] = [local.slice(0, 10), String(Number(local.slice(11, 13)))];
          return { ...event, zone, local_day: day, local_hour: hour };
        }),
      );
      assert.ok(new Set(times.map(({ local_day }) => local_day)).size > 3);
      assert.deepEqual(
        sortedTexts(await place.rows('event_times')),
        sortedTexts(
          times.map(({ sync_id, zone, local_day, local_hour }) => ({ sync_id, zone, local_day, local_hour })),
        ),
      );
      const daily = zones.flatMap((zone) =>
        counted(
          times.filter((one) => one['zone'] === zone),
          ({ local_day }) => String(local_day),
        ).map(({ day, ...row }) => ({ zone, local_day: day, ...row })),
      );
      assert.deepEqual(sortedTexts(await place.rows('activity_daily_local')), sortedTexts(daily));
    });

    it('refuses a zone that the server does not know', async () => {
      const place = await kind.make(folder);
      const { code, stderr } = await syncTo(place, '--zone', 'Europe/Nowhere');
      assert.equal(code, 1);
      assert.match(stderr, /it knows no time zone Europe\/Nowhere\. Use a name like Europe\/Vienna\./);
    });

    it('gets views that are missing or of an earlier version with the next run', async () => {
      const place = await kind.make(folder);
      await syncWell(place);
      const rowsOfViews = () => Promise.all(VIEWS.map(async (view) => sortedTexts(await place.rows(view))));
      const made = await rowsOfViews();
      await place.run(dropped);
      await syncWell(place);
      assert.deepEqual(await rowsOfViews(), made);
      const note = 'Earlier. Made by corkboard sync (00000000).';
      await place.run(
        kind.name === 'SQLite'
          ? `DROP VIEW event_tags; CREATE VIEW event_tags AS SELECT /* ${note} */ 7 AS sync_id`
          : `DROP VIEW event_tags; CREATE VIEW event_tags AS SELECT sync_id FROM events;
             COMMENT ON VIEW event_tags IS '${note}'`,
      );
      await syncWell(place);
      assert.deepEqual(await rowsOfViews(), made);
    });

    it('has no views after a first run that fails: they are made in the transaction of the data', async () => {
      const place = await kind.make(folder);
      const environment = { CORKBOARD_SYNC_KEY: world.keys.revoked };
      const { code } = await run(['sync', `${world.url}/b`, '--to', place.address], { environment });
      assert.equal(code, 1);
      assert.deepEqual(await place.rows('events'), []);
      for (const view of VIEWS) await assert.rejects(place.rows(view), /not exist|no such table/);
    });

    it('never replaces a table or view of the user', async () => {
      for (const [own, isCopy] of [
        ['CREATE TABLE Activity_Daily (x BIGINT); INSERT INTO Activity_Daily VALUES (7);', false],
        ['CREATE VIEW event_tags AS SELECT 7 AS x;', false],
        ['DROP VIEW event_tags; CREATE VIEW event_tags AS SELECT 7 AS x;', true],
      ] as const) {
        const place = await kind.make(folder);
        if (isCopy) await syncWell(place);
        await place.run(own);
        const relation = own.includes('Activity') ? 'activity_daily' : 'event_tags';
        const { code, stderr } = await syncTo(place);
        assert.equal(code, 1);
        assert.match(stderr, new RegExp(`has a table or view "${relation}" that does not belong to a copy`));
        const [row] = await place.rows(relation);
        assert.equal(Number(row?.['x']), 7);
        if (!isCopy) await assert.rejects(place.rows('events'), 'nothing was added');
      }
    });
  });
}

/** A plain computation of `activity_daily`. */
const dayInUtc = ({ timestamp }: CopyRow) => new Date(Number(timestamp)).toISOString().slice(0, 10);

function counted(events: readonly CopyRow[], dayOf = dayInUtc): CopyRow[] {
  const groups = Map.groupBy(events, (event) =>
    [dayOf(event), event['board_id'], event['type'], event['action']].join(' '),
  );
  return [...groups].map(([key, group]) => {
    const [day] = key.split(' ');
    const { board_id, board_title, board_category, type, action } = group[0] ?? {};
    const people = String(new Set(group.map(({ actor_id }) => actor_id)).size);
    return {
      ...{ day, board_id, board_title, board_category, type, action },
      ...{ events: String(group.length), people },
    };
  });
}

describe('a copy in PostgreSQL', () => {
  const postgres = DATABASES.find(({ name }) => name === 'PostgreSQL') ?? assert.fail();
  let place: DatabasePlace;
  /** The privileges of a role that is not the owner, tried. */
  async function readAs(role: string, relation: string) {
    const client = new Client({ connectionString: place.address });
    await client.connect();
    try {
      await client.query(`SET ROLE "${role}"`);
      return (await client.query(`SELECT * FROM community.${relation} LIMIT 1`)).rowCount;
    } finally {
      await client.end();
    }
  }
  const roles = ['bi', 'bi "ro" of O\'Brien'] as const;
  before(async () => {
    place = await postgres.make(folder);
    await place.run(roles.map((role) => `CREATE ROLE "${role.replaceAll('"', '""')}";`).join(' '));
  });

  it('describes its views and their columns', async () => {
    await syncWell(place);
    for (const view of VIEWS) {
      const described = await place.query(`SELECT obj_description('${view}'::regclass) AS note UNION ALL
        SELECT col_description('${view}'::regclass, attnum) FROM pg_attribute
        WHERE attrelid = '${view}'::regclass AND attnum > 0`);
      assert.ok(described.length > 3);
      for (const { note } of described) assert.match(String(note), /^[A-Z].+\.$/);
    }
  });

  it('can be read by the role of --grant, also what a later run makes again, and is not written', async () => {
    const [role] = roles;
    await assert.rejects(readAs(role, 'events'), /permission denied/);
    await syncWell(place, '--grant', role);
    const relations = ['events', 'users', 'boards', 'points', ...VIEWS];
    for (const relation of relations) assert.equal(await readAs(role, relation), 1, relation);
    await place.run('DROP TABLE events CASCADE; DELETE FROM corkboard_sync;');
    await syncWell(place, '--grant', role);
    for (const relation of relations) assert.equal(await readAs(role, relation), 1, relation);
    await assert.rejects(readAs(role, 'corkboard_sync'), /permission denied/);
    const [privileges] = await place.query(
      `SELECT count(*) AS lines FROM information_schema.role_table_grants
       WHERE grantee = '${role}' AND privilege_type <> 'SELECT'`,
    );
    assert.equal(privileges?.['lines'], '0');
  });

  it('keeps the privileges on a view that a later version replaces', async () => {
    await place.run(`COMMENT ON VIEW event_tags IS 'Earlier. Made by corkboard sync (00000000).'`);
    await syncWell(place);
    assert.equal(await readAs(roles[0], 'event_tags'), 1);
  });

  it('accepts any name of a role, and refuses one that there is not', async () => {
    await syncWell(place, '--grant', roles[1]);
    const { code, stderr } = await syncTo(place, '--grant', 'none"; DROP TABLE x');
    assert.equal(code, 1);
    assert.match(stderr, /has no role "none"; DROP TABLE x" \(--grant\)\. Create it/);
  });
});

it('sync refuses --grant for a target without roles', async () => {
  for (const scheme of ['duckdb', 'sqlite']) {
    const { code, stderr } = await run(
      ['sync', `${world.url}/a`, '--to', `${scheme}:${folder}/grant.db`, '--grant', 'bi'],
      { environment: { CORKBOARD_SYNC_KEY: world.keys.full } },
    );
    assert.equal(code, 2);
    assert.match(stderr, /Only PostgreSQL has roles/);
  }
});
