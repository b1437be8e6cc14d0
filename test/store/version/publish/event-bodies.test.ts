/** The bodies of events: stored, replaced, counted for points, and read back (decision 105). */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { FULL_SCOPE } from '../../../../src/domain/scope.ts';
import { onlyPersonal } from '../../../../src/export/personal.ts';
import { VersionRecords } from '../../../../src/export/records.ts';
import { openFolderStore } from '../../../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../../../src/store/files/version-store.ts';
import { checkVersion } from '../../../../src/store/version/read/version-check.ts';
import { openPublished, placed, publishRecords, type Records } from '../../../dataset/small-world.ts';

const NO_WAIT = { waitMs: 0 };
const COMMENTS = JSON.stringify({
  rules: [{ on: 'pin.commented', to: 'actor', points: 5, minWords: 3 }],
});

const EVENT = { ownerId: 1n, actorId: 1n, boardId: 7n, timestampMs: 1_000 };
const COMMENT = { ...EVENT, type: 'pin', action: 'commented', pinId: 70n };

const DESCRIBED: Records = {
  users: [{ id: 1n, email: 'ann@x.example', name: 'Ann' }],
  boards: [{ id: 7n, title: 'Seven' }],
  pins: [{ id: 70n, boardId: 7n, ownerId: 1n, title: 'Pin', body: 'three words here' }],
};

async function* one<T>(batch: T) {
  yield batch;
}

describe('the body of an event', () => {
  let folder: string;
  let store: VersionStore;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-bodies-'));
    store = await openFolderStore(folder);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  async function create(name: string, events: NonNullable<Records['events']>, policy = ''): Promise<void> {
    await store.createOrganization(name, { policy });
    await publishRecords(store, name, { ...DESCRIBED, events });
  }

  function fileOf(name: string, publication: number): string {
    return join(folder, 'organizations', name, 'generations', `${publication}.duckdb`);
  }

  async function bodiesOf(name: string): Promise<readonly unknown[]> {
    const rows = await store.openRows(name);
    try {
      const records = new VersionRecords(rows);
      for (const kind of ['users', 'boards', 'pins'] as const) {
        const source = kind === 'users' ? records.users(new Map()) : records[kind]();
        for await (const _batch of source);
      }
      const bodies = [];
      for await (const batch of records.events()) bodies.push(...batch.map(({ body }) => body));
      assert.equal(
        rows.hasBodies,
        bodies.some((body) => body !== undefined),
      );
      return bodies;
    } finally {
      await rows.close();
    }
  }

  async function pointsIn(name: string): Promise<number | undefined> {
    const dataset = await openPublished(store, name);
    try {
      const board = await dataset.findBoard(FULL_SCOPE, { by: 'id', value: 7n });
      const { totalPoints } = await dataset.standings({
        ...{ scope: FULL_SCOPE, range: {} },
        of: { board: board! },
      });
      return Number(totalPoints[0]);
    } finally {
      await dataset.close();
    }
  }

  it('is kept in the order of import, beside events without one', async () => {
    await create('kept', [
      { ...COMMENT, body: 'first' },
      COMMENT,
      { ...COMMENT, body: 'third, "quoted"\n\u{1F642}' },
      { ...EVENT, type: 'board', action: 'followed' },
    ]);
    assert.deepEqual(await bodiesOf('kept'), ['first', undefined, 'third, "quoted"\n\u{1F642}', undefined]);
  });

  it('is replaced by that of a later import of an event with the same id', async () => {
    await create('replaced', [
      { ...COMMENT, id: 1n, body: 'old' },
      { ...COMMENT, id: 2n },
      { ...COMMENT, id: 3n, body: 'stays' },
    ]);
    const events = [
      { ...COMMENT, id: 1n, body: 'new' },
      { ...COMMENT, id: 2n, body: 'given later' },
      { ...COMMENT, id: 3n },
      { ...COMMENT, id: 4n, body: 'first of two' },
      { ...COMMENT, id: 4n, body: 'last of two' },
    ];
    const { changes } = await publishRecords(store, 'replaced', { events });
    assert.deepEqual(changes.events, { added: 1, changed: 2, unchanged: 2, deleted: 0 });
    assert.deepEqual(await bodiesOf('replaced'), ['new', 'given later', 'stays', 'last of two']);
    assert.equal((await publishRecords(store, 'replaced', { events })).published, false);
  });

  it('is replaced for few of many events as for most of them', async () => {
    const events = Array.from({ length: 40 }, (_, at) => ({ ...COMMENT, id: BigInt(at), body: `of ${at}` }));
    await create('many', events);
    const expected = events.map(({ body }) => body);
    for (const changed of [[3], [...events.keys()].slice(0, 30)]) {
      const later = changed.map((at) => ({ ...events[at]!, body: `${changed.length} changed` }));
      for (const at of changed) expected[at] = `${changed.length} changed`;
      const { changes } = await publishRecords(store, 'many', { events: later });
      assert.deepEqual(changes.events, { added: 0, changed: changed.length, unchanged: 0, deleted: 0 });
      assert.deepEqual(await bodiesOf('many'), expected);
    }
  });

  it('is not replaced by that of a different actor', async () => {
    await create('other', [{ ...COMMENT, id: 1n, body: 'of Ann' }]);
    const users = [{ id: 2n, email: 'bob@x.example', name: 'Bob' }];
    const { changes } = await publishRecords(store, 'other', {
      users,
      events: [{ ...COMMENT, id: 1n, actorId: 2n, body: 'of Bob' }],
    });
    assert.deepEqual(changes.events, { added: 0, changed: 0, unchanged: 1, deleted: 0 });
    assert.deepEqual(await bodiesOf('other'), ['of Ann']);
  });

  it('is in what is stored about its actor, not about the owner', async () => {
    const event = { actor_id: 1n, owner_id: 2n, body: 'of Ann' };
    const { body: _body, ...others } = event;
    for (const [id, expected] of [
      [1n, event],
      [2n, others],
    ] as const) {
      const batches = [];
      const about = { id, boards: new Set<bigint>() };
      for await (const batch of onlyPersonal('events', one([event]), about)) batches.push(batch);
      assert.deepEqual(batches, [[expected]]);
    }
  });

  it('identifies no event', async () => {
    await create('anonymous', [
      { ...COMMENT, body: 'one' },
      { ...COMMENT, body: 'two' },
    ]);
    const { changes } = await publishRecords(store, 'anonymous', {
      events: [
        { ...COMMENT, body: 'two' },
        { ...COMMENT, body: 'other' },
        { ...COMMENT, body: 'three' },
      ],
    });
    assert.deepEqual(changes.events, { added: 1, changed: 0, unchanged: 2, deleted: 0 });
    assert.deepEqual(await bodiesOf('anonymous'), ['one', 'two', 'three']);
  });

  it('counts for the words of a rule, in place of the body of the pin', async () => {
    const comment = (body?: string) => ({ ...COMMENT, id: 1n, body });
    await create('words', [comment()], COMMENTS);
    assert.equal(await pointsIn('words'), 5);
    for (const [body, points] of [
      ['too short', 0],
      ['long enough now', 5],
      [' \n\u00a0', 0],
    ] as const) {
      await publishRecords(store, 'words', { events: [comment(body)] });
      assert.equal(await pointsIn('words'), points, body);
    }
    await publishRecords(store, 'words', { pins: [{ ...DESCRIBED.pins![0]!, body: 'and many more words' }] });
    assert.equal(await pointsIn('words'), 0);
  });

  it('comes back with a rollback, and is named in the comparison', async () => {
    await create('back', [{ ...COMMENT, id: 1n, body: 'too short' }], COMMENTS);
    await publishRecords(store, 'back', { events: [{ ...COMMENT, id: 1n, body: 'long enough now' }] });
    const [, first] = await store.versions('back');
    const outcome = await store.rollBack('back', first!.publication, NO_WAIT);
    assert.equal(outcome.published, true);
    assert.deepEqual(outcome.changes.events, { added: 0, changed: 1, unchanged: 0, deleted: 0 });
    assert.deepEqual(await bodiesOf('back'), ['too short']);
    assert.equal(await pointsIn('back'), 0);
    const { changes, samples } = await store.difference('back', 1, 2);
    assert.equal(changes.events.changed, 1);
    assert.deepEqual(samples, [
      {
        ...{ kind: 'events', change: 'changed' },
        record: 'pin.commented by user 1 on board 7 at 1970-01-01T00:00:01Z',
      },
    ]);
  });

  it('goes away and comes back with rollbacks to a version from before it and to one with it', async () => {
    await create('both ways', [{ ...COMMENT, id: 1n }], COMMENTS);
    await publishRecords(store, 'both ways', { events: [{ ...COMMENT, id: 1n, body: 'too short' }] });
    const file = fileOf('both ways', 1);
    const instance = await DuckDBInstance.create(file);
    const connection = await instance.connect();
    await connection.run('ALTER TABLE events DROP COLUMN body');
    await connection.run('ALTER TABLE version DROP COLUMN organization_digest');
    await connection.run("COMMENT ON TABLE version IS 'Corkboard generation, format 9'");
    connection.closeSync();
    instance.closeSync();
    for (const [publication, body, points] of [
      [1, undefined, 5],
      [2, 'too short', 0],
    ] as const) {
      const { changes } = await store.rollBack('both ways', publication, NO_WAIT);
      assert.deepEqual(changes.events, { added: 0, changed: 1, unchanged: 0, deleted: 0 });
      assert.deepEqual(await bodiesOf('both ways'), [body]);
      assert.equal(await pointsIn('both ways'), points);
    }
  });

  it('no longer counts once its event is deleted, and those of others still do', async () => {
    const body = 'long enough now';
    await create(
      'deleted',
      [
        { ...COMMENT, id: 1n, body },
        { ...COMMENT, id: 2n, body },
        { ...COMMENT, id: 3n, body: 'short' },
      ],
      COMMENTS,
    );
    assert.equal(await pointsIn('deleted'), 10);
    const publication = await store.beginPublication('deleted', NO_WAIT);
    try {
      await publication.stageDeletions('events', placed([{ id: 1n }]));
      await publication.check((problem) => assert.fail(problem.reason));
      const { changes } = await publication.publish();
      assert.deepEqual(changes.events, { added: 0, changed: 0, unchanged: 0, deleted: 1 });
    } finally {
      await publication.discard();
    }
    assert.equal(await pointsIn('deleted'), 5);
    assert.deepEqual(await bodiesOf('deleted'), [body, 'short']);
  });

  it('is accepted by the check of a version file', async () => {
    await create('checked', [{ ...COMMENT, id: 1n, body: 'one' }, COMMENT], COMMENTS);
    const { file } = await store.original('checked');
    assert.deepEqual((await checkVersion(file!)).problems, []);
    file!.release();
  });
});
