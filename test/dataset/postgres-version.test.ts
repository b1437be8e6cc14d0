/** A version in PostgreSQL shows the rows that were born and had not died, however much is published after it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { Database } from '../../src/dataset/postgres/database.ts';
import { MIGRATIONS } from '../../src/dataset/postgres/migrations.ts';
import { ALIVE } from '../../src/dataset/postgres/schema.ts';
import { openVersion } from '../../src/dataset/postgres/version.ts';
import type { EventQuery, Occurrences } from '../../src/dataset/query.ts';
import { collectRuns } from '../../src/dataset/resident/columns.ts';
import { FULL_SCOPE, type Scope } from '../../src/dataset/scope.ts';
import { LATER_USER_CLOCKS } from '../../src/dataset/user-clocks.ts';
import { sharedPostgres } from '../postgres/throwaway.ts';

const ALL = { scope: FULL_SCOPE, range: {} };
const BOARD_7: Scope = { boards: [7n], users: 'of-boards' };
const LARGEST = 2n ** 63n - 1n;
const NOTHING = [undefined, undefined, undefined];
const YEAR_2000 = 946_684_800_000;

/** Organization 1 as its first two publications left it, and another one beside it. */
const ROWS = `
  CREATE TABLE events_of_2000 PARTITION OF events FOR VALUES FROM (${YEAR_2000}) TO (978307200000);
  INSERT INTO versions VALUES
    (1, 1, 'first', 0, 5, 77, 'Acme', 'acme.example', 3, false, '[]', '', 5, 2, 2, 1, 'user-id'),
    (1, 2, 'second', 0, 9, 77, 'Acme', 'acme.example', 3, true, '["sis"]', '', 7, 3, 2, 1, 'board-id'),
    (2, 1, 'other', 0, 1, 1, 'Other', '', 0, false, '[]', '', 1, 1, 1, 0, 'user-id');
  INSERT INTO kinds VALUES (1, 0, 'pin', 'created', 1), (1, 1, 'board', 'followed', 1), (1, 2, 'pin', 'liked', 2),
    (2, 0, 'board', 'followed', 1);
  INSERT INTO users VALUES
    (1, 0, 10, 'ann@x', 'Ann Bee', 'Ann', 'Bee', 'admin', 'teacher', 1000, 1, ${ALIVE}),
    (1, 1, ${LARGEST}, 'old@x', 'Big', '', '', '', '', NULL, 1, 2),
    (1, 1, ${LARGEST}, 'new@x', 'Big', '', '', '', '', NULL, 2, ${ALIVE}),
    (1, 2, 5, 'zoe@x', 'Zoë', '', '', '', '', NULL, 2, ${ALIVE}),
    (2, 0, 10, 'ann@y', 'Ann', '', '', '', '', NULL, 1, ${ALIVE});
  INSERT INTO user_created VALUES (1, 0, 1000, 1), (1, 1, ${YEAR_2000}, 1), (1, 2, NULL, 2), (2, 0, NULL, 1);
  INSERT INTO user_properties VALUES (1, 0, 'sis', 'A', 1, 2), (1, 0, 'sis', 'B', 2, ${ALIVE}),
    (2, 0, 'sis', 'A', 1, ${ALIVE});
  INSERT INTO boards VALUES (1, 0, 8, 'Eight', '', 'lti-8', 'C 8', NULL, 1), (1, 1, 7, 'Seven', 'Cat', '', '', NULL, 1),
    (2, 0, 7, 'Other', '', '', '', NULL, 1);
  INSERT INTO board_created VALUES (1, 0, 5000, 1), (1, 1, -3, 1), (2, 0, NULL, 1);
  INSERT INTO pins VALUES (1, 0, 70, 1, 0, 'Pin', 'body', 'web', 'image', '["a","b"]', NULL, 1);
  INSERT INTO board_people VALUES (1, 1, 0, true, 1, ${ALIVE}), (1, 0, 1, true, 1, 2), (1, 0, 1, false, 2, ${ALIVE}),
    (1, 0, 2, true, 2, ${ALIVE}), (2, 0, 0, true, 1, ${ALIVE});
  INSERT INTO standings VALUES (1, 1, 0, 10, 10, 1, 2), (1, 1, 0, 15, 15, 2, ${ALIVE}), (1, 0, 1, 4, 4, 1, ${ALIVE});
  INSERT INTO imported_points VALUES (1, 0, 1, 4, 4, 1);
  INSERT INTO awards VALUES (1, 1, 0, 2, 2000, 0, 10, 'counted', NULL, 1), (1, 1, 0, 1, 1500, 0, 9, 'self', NULL, 1),
    (1, 0, 1, 3, 3000, 0, 10, 'counted', NULL, 1);
  INSERT INTO adjustments VALUES (1, 1, 0, 5, 1999, 'more', 1, 2);
  INSERT INTO events (organization, publication, sequence, kind, actor, "owner", board, pin, timestamp_ms) VALUES
    (1, 1, 1, 0, 0, 0, 1, 0, ${YEAR_2000}), (1, 1, 2, 1, 0, 1, 1, NULL, ${YEAR_2000 - 1}),
    (1, 1, 3, 0, 1, 1, 0, 0, -500), (1, 1, 4, 1, 1, 0, 0, NULL, ${YEAR_2000}),
    (1, 1, 5, 0, 0, 1, 0, 0, ${YEAR_2000 + 2}),
    (1, 2, 8, 2, 0, 0, 1, 0, ${YEAR_2000 - 1}), (1, 2, 9, 1, 2, 0, 0, NULL, 5000),
    (2, 1, 1, 0, 0, 0, 0, NULL, 0);`;

/** The third publication ends what there is and adds to it. */
const LATER = `
  UPDATE users SET died = 3 WHERE organization = 1 AND ix = 0 AND died > 3;
  INSERT INTO users VALUES (1, 0, 10, 'ann@z', 'Ann', '', '', '', '', 1000, 3), (1, 3, 6, 'x@x', '', '', '', '', '', NULL, 3);
  INSERT INTO user_created VALUES (1, 3, NULL, 3);
  UPDATE user_properties SET died = 3 WHERE organization = 1 AND died > 3;
  UPDATE standings SET died = 3 WHERE organization = 1 AND died > 3;
  UPDATE board_people SET died = 3 WHERE organization = 1 AND died > 3;
  INSERT INTO kinds VALUES (1, 3, 'pin', 'later', 3);
  INSERT INTO adjustments VALUES (1, 1, 0, 7, 1998, 'later', 2, 3);
  INSERT INTO events (organization, publication, sequence, kind, actor, "owner", board, pin, timestamp_ms)
    SELECT 1, 3, 9 + n, 3, 0, 0, 1, 0, ${YEAR_2000} + n FROM generate_series(1, 20) n;`;

/** The rows below say nothing of it. */
const NEVER_REVISED = [
  ...['users', 'boards', 'pins'].map((table) => `ALTER TABLE ${table} ALTER revised SET DEFAULT 0;`),
  ...LATER_USER_CLOCKS.map((clock) => `ALTER TABLE users ALTER ${clock} SET DEFAULT 0;`),
].join('\n');

describe('a version in PostgreSQL', () => {
  let database: Database;
  let first: Dataset;
  let second: Dataset;

  before(async () => {
    database = new Database(await (await sharedPostgres()).newDatabase());
    const sql = [
      'CREATE SCHEMA corkboard;',
      ...MIGRATIONS.map((migration) => migration.sql),
      NEVER_REVISED,
      ROWS,
    ];
    await database.session((session) => session.run(sql.join('\n')));
    first = await openVersion(database, { organization: 1, publication: 1 });
    second = await openVersion(database, { organization: 1, publication: 2 });
  });
  after(() => database.close());

  const sequences = async (query: Partial<EventQuery> = {}, dataset = second) => {
    const found: number[] = [];
    for await (const batch of dataset.events({ ...ALL, ...query })) found.push(...batch.sequence);
    return found;
  };

  it('shows its head, and is not there when nothing was published under its number', async () => {
    assert.deepEqual(second.organization, {
      id: 77n,
      title: 'Acme',
      domain: 'acme.example',
      categoryId: 3n,
    });
    assert.deepEqual([first.version, first.lastSequence, first.lookups.course], ['first', 5, false]);
    assert.deepEqual(second.lookups, { course: true, lmsUserProperties: ['sis'] });
    assert.deepEqual([first.userPointsKey, second.userPointsKey], ['user-id', 'board-id']);
    assert.deepEqual(second.counts, { events: 7, users: 3, boards: 2, pins: 1 });
    assert.deepEqual([first.kinds.length, second.kinds[2]], [2, { type: 'pin', action: 'liked' }]);
    await assert.rejects(openVersion(database, { organization: 1, publication: 9 }), /no publication 9/);
  });

  it('delivers events by timestamp, ties by order of import, over all years', async () => {
    assert.deepEqual(await sequences({}, first), [3, 2, 1, 4, 5]);
    assert.deepEqual(await sequences(), [3, 9, 2, 8, 1, 4, 5]);
    const batches = await collectRuns(second.events({ ...ALL, limit: 2 }));
    assert.deepEqual(batches, [
      {
        count: 2,
        kind: Int32Array.of(0, 1),
        actor: Int32Array.of(1, 2),
        owner: Int32Array.of(1, 0),
        board: Int32Array.of(0, 0),
        pin: Int32Array.of(0, -1),
        timestampMs: Float64Array.of(-500, 5000),
        sequence: Float64Array.of(3, 9),
      },
    ]);
  });

  it('narrows events to a range, pins, a board, an actor, a place and a number', async () => {
    assert.deepEqual(await sequences({ range: { startMs: -500, endMs: YEAR_2000 } }), [3, 9, 2, 8]);
    assert.deepEqual(await sequences({ range: { startMs: YEAR_2000, endMs: YEAR_2000 } }), []);
    assert.deepEqual(await sequences({ pinsOnly: true }), [3, 8, 1, 5]);
    assert.deepEqual(await sequences({ board: 1 }), [2, 8, 1]);
    assert.deepEqual(await sequences({ actor: 1 }), [3, 4]);
    assert.deepEqual(await sequences({ upToSequence: 5 }), [3, 2, 1, 4, 5]);
    const place = { timestampMs: YEAR_2000 - 1, sequence: 2 };
    assert.deepEqual(await sequences({ after: place, limit: 2 }), [8, 1]);
    assert.deepEqual(await sequences({ after: { ...place, sequence: 8 }, upToSequence: 4 }), [1, 4]);
    assert.deepEqual(await sequences({ after: { timestampMs: YEAR_2000 + 2, sequence: 5 } }), []);
  });

  const SCOPES: readonly (readonly [Scope, readonly number[]])[] = [
    [BOARD_7, [2, 8, 1]],
    [{ boards: 'all', users: [10n] }, [8, 1]],
    [{ boards: 'all', users: [10n, LARGEST, 12345n] }, [3, 2, 8, 1, 4, 5]],
    [{ boards: [8n, 7n], users: [LARGEST] }, [3]],
    [{ boards: 'all', users: 'of-boards' }, [3, 9, 2, 8, 1, 4, 5]],
    [{ boards: [], users: 'all' }, []],
    [{ boards: 'all', users: [] }, []],
    [{ boards: [-LARGEST - 1n], users: 'of-boards' }, []],
  ];

  it('shows the events of a scope', async () => {
    for (const [scope, visible] of SCOPES) assert.deepEqual(await sequences({ scope }), visible);
  });

  it('tallies what it delivers, whatever is asked', async () => {
    const queries: Partial<EventQuery>[] = SCOPES.map(([scope]) => ({ scope }));
    queries.push({}, { board: 0 }, { actor: 0, pinsOnly: true }, { range: { startMs: 0, endMs: YEAR_2000 } });
    for (const query of queries) {
      const batches = await collectRuns(second.events({ ...ALL, ...query }));
      const tally = await second.tally({ ...ALL, ...query });
      assert.equal(
        tally.events,
        batches.reduce((sum, { count }) => sum + count, 0),
      );
      for (const column of ['kind', 'actor', 'owner', 'board', 'pin'] as const) {
        const values = batches.flatMap((batch) => [...batch[column]]).filter((value) => value >= 0);
        assert.deepEqual(sortedOccurrences(tally[column]), countsOf(values), column);
      }
    }
  });

  it('shows people, boards and pins in the order of their indices', async () => {
    const people = (await collectRuns(second.people())).flat();
    const boards = (await collectRuns(second.boards())).flat();
    const pins = (await collectRuns(second.pins())).flat();
    assert.deepEqual(
      people.map(({ id, email }) => `${id} ${email}`),
      ['10 ann@x', `${LARGEST} new@x`, '5 zoe@x'],
    );
    assert.deepEqual(people[0], {
      ...{ id: 10n, email: 'ann@x', name: 'Ann Bee', firstName: 'Ann', lastName: 'Bee' },
      ...{ nameIsDerived: true, role: 'admin', classRole: 'teacher' },
    });
    assert.deepEqual(boards[0], { id: 8n, title: 'Eight', category: '' });
    assert.deepEqual(boards[1], { id: 7n, title: 'Seven', category: 'Cat' });
    const pin = { id: 70n, title: 'Pin', body: 'body', webUrl: 'web', imageUrl: 'image', tags: ['a', 'b'] };
    assert.deepEqual(pins, [pin]);
    assert.equal((await collectRuns(first.people())).flat()[1]?.email, 'old@x');
  });

  it('lists users and boards by id, inside scope and range', async () => {
    const users = async (query = {}, dataset = second) => [
      ...(await dataset.listUsers({ ...ALL, ...query })),
    ];
    assert.deepEqual(await users(), [2, 0, 1]);
    assert.deepEqual(await users({}, first), [0, 1]);
    assert.deepEqual(await users({ afterId: 5n, limit: 1 }), [0]);
    assert.deepEqual(await users({ afterId: -LARGEST - 1n }), [2, 0, 1]);
    assert.deepEqual(await users({ range: { startMs: 1000, endMs: YEAR_2000 } }), [0]);
    assert.deepEqual(await users({ scope: BOARD_7 }), [0]);
    assert.deepEqual(await users({ scope: { boards: [8n], users: 'of-boards' } }), [2, 1]);
    assert.deepEqual(await users({ scope: { boards: 'all', users: [LARGEST, 5n] } }), [2, 1]);
    assert.deepEqual([...(await second.listBoards(ALL))], [1, 0]);
    assert.deepEqual([...(await second.listBoards({ ...ALL, scope: BOARD_7 }))], [1]);
    assert.deepEqual([...(await second.listBoards({ ...ALL, range: { endMs: 0 } }))], [1]);
  });

  it('finds boards and users by name, and what is out of scope as little as what is not there', async () => {
    const board = async (by: 'lti' | 'course', value: string, scope = FULL_SCOPE) =>
      await second.findBoard(scope, { by, value });
    assert.deepEqual([await board('lti', 'lti-8'), await board('course', 'C 8')], [0, 0]);
    assert.deepEqual(
      [await board('lti', ''), await board('lti', 'a\0'), await board('course', 'c 8')],
      NOTHING,
    );
    assert.equal(await board('lti', 'lti-8', BOARD_7), undefined);
    assert.equal(await second.findBoard(BOARD_7, { by: 'id', value: 7n }), 1);
    const sis = async (value: string, dataset = second, scope = FULL_SCOPE) =>
      await dataset.findUser(scope, { by: 'lms', property: 'sis', value });
    assert.deepEqual([await sis('A', first), await sis('A'), await sis('B')], [0, undefined, 0]);
    assert.deepEqual([await sis('B', second, BOARD_7), await sis('\0')], [0, undefined]);
    assert.equal(await second.findUser(FULL_SCOPE, { by: 'id', value: LARGEST }), 1);
    assert.equal(await second.findUser(BOARD_7, { by: 'id', value: LARGEST }), undefined);
    assert.equal(await first.findUser(FULL_SCOPE, { by: 'id', value: 5n }), undefined);
  });

  it('gives its tables as columns', async () => {
    assert.deepEqual(await tablesOf(second), {
      users: [{ id: BigInt64Array.of(10n, LARGEST, 5n), createdMs: Float64Array.of(1000, NaN, NaN) }],
      boards: [
        {
          id: BigInt64Array.of(8n, 7n),
          createdMs: Float64Array.of(NaN, NaN),
          ltiId: ['lti-8', ''],
          courseId: ['C 8', ''],
        },
      ],
      properties: [{ user: Int32Array.of(0), property: ['sis'], value: ['B'] }],
      boardPeople: ['0 1', '0 2', '1 0'],
      standings: ['0 1 4 4', '1 0 15 15'],
      earnings: ['1 0 1999 5', '1 0 2000 10'],
    });
  });

  it('stays what it is when more is published', async () => {
    const before = [await tablesOf(second), await collectRuns(second.people()), await sequences()];
    const tally = await second.tally(ALL);
    await database.session((session) => session.run(LATER));
    assert.deepEqual([await tablesOf(second), await collectRuns(second.people()), await sequences()], before);
    assert.deepEqual(await second.tally(ALL), tally);
    assert.deepEqual([...(await second.listUsers(ALL))], [2, 0, 1]);
    const again = await openVersion(database, { organization: 1, publication: 2 });
    assert.equal(again.kinds.length, 3);
  });

  it('frees the connection of an answer that is given up', async () => {
    for (let answer = 0; answer < 20; answer++) {
      for await (const batch of second.events(ALL)) if (batch.count > 0) break;
    }
    assert.equal((await sequences()).length, 7);
  });
});

async function tablesOf(dataset: Dataset) {
  const tables = dataset.tables();
  return {
    users: await collectRuns(tables.users()),
    boards: await collectRuns(tables.boards()),
    properties: await collectRuns(tables.properties()),
    boardPeople: (await collectRuns(tables.boardPeople()))
      .flatMap(({ board, user }) => [...board].map((at, row) => `${at} ${user[row]}`))
      .toSorted(),
    standings: (await collectRuns(tables.standings()))
      .flatMap(({ board, user, totalPoints, participationScore }) =>
        [...board].map((at, row) => `${at} ${user[row]} ${totalPoints[row]} ${participationScore[row]}`),
      )
      .toSorted(),
    earnings: (await collectRuns(tables.earnings()))
      .flatMap(({ board, user, timestampMs, points }) =>
        [...board].map((at, row) => `${at} ${user[row]} ${timestampMs[row]} ${points[row]}`),
      )
      .toSorted(),
  };
}

function sortedOccurrences({ index, count }: Occurrences): [number, number][] {
  return [...index].map((value, row): [number, number] => [value, count[row]!]).toSorted(([a], [b]) => a - b);
}

function countsOf(values: readonly number[]): [number, number][] {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].toSorted(([a], [b]) => a - b);
}
