/** A copy in a folder of Parquet files: which files change, who may read them, what is refused. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openTarget } from '../../src/sync/targets/open-target.ts';
import { temporaryFolder } from '../cli/command.ts';
import { COLUMNS } from './columns.ts';
import { PARQUET, queryFiles, rowsOfFiles } from './copies.ts';
import { eventsIn, NO_CHANGES, runWith, type ScriptedEvent } from './scripted.ts';

const folder = temporaryFolder();

function event(id: string, day: string, actor = 1, title = 'Board'): ScriptedEvent {
  return { id, actor, instantMs: Date.parse(`${day}T12:00:00Z`), title };
}

/** Events in January, February and March. */
const FIRST = [event('a', '2018-01-05'), event('b', '2018-02-05', 2), event('c', '2018-03-05', 2)];

async function firstCopy() {
  const place = await PARQUET.make(folder);
  await runWith(place, [{ ...NO_CHANGES, startsAnew: true, events: FIRST }], 'first');
  return place;
}

/** The files that programs see, each with what identifies its content. */
function filesIn(path: string): Readonly<Record<string, bigint>> {
  const names = globSync('**/*.*', { cwd: path, exclude: ['.corkboard'] }).filter((name) =>
    statSync(join(path, name)).isFile(),
  );
  return Object.fromEntries(
    names.sort().map((name) => [name, statSync(join(path, name), { bigint: true }).ino]),
  );
}

function changedFiles(before: Readonly<Record<string, bigint>>, path: string): readonly string[] {
  const after = filesIn(path);
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => before[name] !== after[name])
    .sort();
}

const monthFile = (month: string) => `events/month=${month}/events.parquet`;

describe('a copy in Parquet files', () => {
  it('has a file for each month, lists, and its state, and nothing else', async () => {
    const { path } = await firstCopy();
    assert.deepEqual(Object.keys(filesIn(path)), [
      ...['boards.parquet', 'corkboard_sync.json'],
      ...['2018-01', '2018-02', '2018-03'].map(monthFile),
      ...['points.parquet', 'users.parquet'],
    ]);
    assert.deepEqual(JSON.parse(readFileSync(join(path, 'corkboard_sync.json'), 'utf8')), {
      ...{ format: 1, source: 'https://data.example.org/a', token: 'first' },
      lists: ['users', 'boards', 'points'],
      months: ['2018-01', '2018-02', '2018-03'],
    });
    assert.deepEqual(globSync('*', { cwd: join(path, '.corkboard') }), ['lock']);
  });

  it('has the documented columns, with the types of DuckDB', async () => {
    const { path } = await firstCopy();
    for (const [table, file] of [
      ['events', monthFile('2018-01')],
      ['users', 'users.parquet'],
      ['boards', 'boards.parquet'],
      ['points', 'points.parquet'],
    ] as const) {
      const described = await queryFiles(
        `SELECT column_name AS name, column_type AS type FROM (DESCRIBE FROM read_parquet('${join(path, file)}', hive_partitioning = false))`,
      );
      assert.deepEqual(
        described.map(({ name, type }) => [name, type]),
        COLUMNS[table]?.map(([name, duckdb]) => [name, duckdb]),
      );
    }
  });

  it('is read as one table, with the month as a column, and in the order of time', async () => {
    const { path } = await firstCopy();
    await runWith(
      { ...(await PARQUET.make(folder)), address: `parquet:${path}` },
      [{ ...NO_CHANGES, events: [event('late', '2018-02-01')] }],
      'second',
    );
    const rows = await queryFiles(
      `SELECT month, sync_id FROM read_parquet('${path}/events/*/*.parquet', hive_partitioning = true)
       WHERE month >= '2018-02'`,
    );
    assert.deepEqual(
      rows.map(({ month, sync_id }) => [month, sync_id]),
      [
        ['2018-02', 'late'],
        ['2018-02', 'b'],
        ['2018-03', 'c'],
      ],
    );
  });

  for (const [what, batch, changed] of [
    ['no changes', NO_CHANGES, []],
    ['a late event', { ...NO_CHANGES, events: [event('d', '2018-01-01')] }, ['2018-01']],
    ['a correction', { ...NO_CHANGES, events: [event('b', '2018-02-05', 2, 'New')] }, ['2018-02']],
    ['an event that moves', { ...NO_CHANGES, events: [event('a', '2018-04-01')] }, ['2018-01', '2018-04']],
    ['a deletion', { ...NO_CHANGES, deleted: ['c'] }, ['2018-03']],
    ['a deletion of an unknown event', { ...NO_CHANGES, deleted: ['z'] }, []],
    ['an erasure', { ...NO_CHANGES, forgotten: [2] }, ['2018-02', '2018-03']],
  ] as const) {
    it(`changes the files of the months concerned by ${what}, and no others`, async () => {
      const place = await firstCopy();
      const before = filesIn(place.path);
      await runWith(place, [batch], 'second');
      const events = changedFiles(before, place.path).filter((name) => name.startsWith('events/'));
      assert.deepEqual(events, changed.map(monthFile));
      const state = JSON.parse(readFileSync(join(place.path, 'corkboard_sync.json'), 'utf8'));
      assert.equal(state.token, 'second');
    });
  }

  it('changes its own months if a folder around it has the name of a month', async () => {
    const place = await PARQUET.make(join(folder, 'month=2018-03'));
    await runWith(place, [{ ...NO_CHANGES, startsAnew: true, events: FIRST }], 'first');
    await runWith(place, [{ ...NO_CHANGES, forgotten: [1] }], 'second');
    assert.deepEqual(eventsIn(await place.rows('events')), FIRST.slice(1));
  });

  it('keeps an event without an actor when users are erased', async () => {
    const place = await firstCopy();
    const { actor, ...others } = event('anonymous', '2018-02-06');
    await runWith(place, [{ ...NO_CHANGES, events: [others] }], 'second');
    await runWith(place, [{ ...NO_CHANGES, forgotten: [2] }], 'third');
    const ids = (await place.rows('events')).map(({ sync_id }) => sync_id);
    assert.deepEqual(ids.sort(), ['a', 'anonymous']);
  });

  it('is not written if not even the token has changed', async () => {
    const place = await firstCopy();
    const before = filesIn(place.path);
    await runWith(place, [NO_CHANGES], 'first');
    assert.deepEqual(changedFiles(before, place.path), []);
  });

  it('has no file and no folder for a month without events', async () => {
    const place = await firstCopy();
    await runWith(place, [{ ...NO_CHANGES, deleted: ['a', 'b', 'c'] }], 'second');
    assert.deepEqual(globSync('events/*', { cwd: place.path }), []);
    await runWith(place, [{ ...NO_CHANGES, events: FIRST }], 'third');
    assert.deepEqual(eventsIn(await place.rows('events')), FIRST);
  });

  it('lets those read the files who may read the folder, and only the owner write', async () => {
    const place = await PARQUET.make(folder);
    const umask = process.umask(0o077);
    try {
      const [first, second] = ['2018-01', '2018-02'] as const;
      await runWith(place, [{ ...NO_CHANGES, events: [event('a', `${first}-05`)] }], 'first');
      const modeOf = (name: string) => statSync(join(place.path, name)).mode & 0o7777;
      const names = ['events', `events/month=${first}`, monthFile(first), 'corkboard_sync.json'];
      assert.deepEqual(['.', ...names].map(modeOf), [0o700, 0o700, 0o700, 0o600, 0o600]);
      chmodSync(place.path, 0o2770);
      await runWith(place, [{ ...NO_CHANGES, events: [event('b', `${second}-05`)] }], 'second');
      names.push(`events/month=${second}`, monthFile(second), '.corkboard');
      assert.deepEqual(names.map(modeOf), [0o2750, 0o700, 0o600, 0o640, 0o2750, 0o640, 0o700]);
      await runWith(place, [{ ...NO_CHANGES, events: [event('c', `${first}-05`)] }], 'third');
      assert.deepEqual(names.map(modeOf), [0o2750, 0o2750, 0o640, 0o640, 0o2750, 0o640, 0o700]);
      chmodSync(place.path, 0o777);
      await runWith(place, [{ ...NO_CHANGES, events: [event('d', `${first}-05`)] }], 'fourth');
      assert.deepEqual(names.slice(0, 4).map(modeOf), [0o755, 0o755, 0o644, 0o644]);
    } finally {
      process.umask(umask);
    }
  });

  it('gives what is written the group of the folder', async (t) => {
    const place = await firstCopy();
    const groups = process.getuid?.() === 0 ? [1] : (process.getgroups?.() ?? []);
    const group = groups.find((id) => id !== process.getgid?.());
    if (group === undefined) return t.skip('the user has one group');
    chownSync(place.path, statSync(place.path).uid, group);
    await runWith(place, [{ ...NO_CHANGES, deleted: ['a'], events: [event('d', '2018-03-06')] }], 'second');
    const names = ['events', 'events/month=2018-03', monthFile('2018-03'), 'corkboard_sync.json'];
    for (const name of names) assert.equal(statSync(join(place.path, name)).gid, group, name);
  });

  it('is unchanged for readers while a run that fails later has already received changes', async () => {
    const place = await firstCopy();
    const before = filesIn(place.path);
    const target = await openTarget(place.address, { schema: 'community' });
    await assert.rejects(
      target.transact(async (copy) => {
        const { EVENTS } = await import('../../src/sync/tables.ts');
        await copy.remove(EVENTS, 'sync_id', ['a']);
        assert.deepEqual(changedFiles(before, place.path), []);
        throw new Error('broken');
      }),
      /broken/,
    );
    assert.deepEqual(changedFiles(before, place.path), []);
    assert.deepEqual(globSync('*', { cwd: join(place.path, '.corkboard') }), ['lock']);
  });
});

async function refused(path: string, message: RegExp): Promise<void> {
  const place = { address: `parquet:${path}`, rows: (table: string) => rowsOfFiles(path, table) };
  await assert.rejects(runWith(place, [NO_CHANGES], 'last'), {
    code: /copy-refused|copy-busy|option-malformed/,
    message,
  });
}

describe('a change that was written down and not made', () => {
  const april = 'events/month=2018-04';
  const MOVED = [{ ...NO_CHANGES, events: [event('a', '2018-04-01'), event('b', '2018-02-05', 3)] }];

  /** A folder in the place of a file stops the change. */
  async function stoppedCopy(): Promise<string> {
    const place = await firstCopy();
    mkdirSync(join(place.path, monthFile('2018-04')), { recursive: true });
    await assert.rejects(runWith(place, MOVED, 'second'), { code: 'copy-refused', message: /EISDIR/ });
    rmSync(join(place.path, april), { recursive: true });
    return place.path;
  }

  it('is completed by the next run', async () => {
    const path = await stoppedCopy();
    await runWith({ address: `parquet:${path}`, rows: async () => [] }, [NO_CHANGES], 'third');
    const moved = MOVED.flatMap(({ events }) => events);
    assert.deepEqual(eventsIn(await rowsOfFiles(path, 'events')), [...moved, FIRST[2]]);
  });

  it('is refused for good if a new file is lost', async () => {
    for (const [name, hasFormer] of [
      ['', false],
      ['2018-04.next', false],
      ['2018-04.next', true],
    ] as const) {
      const path = await stoppedCopy();
      const state = readFileSync(join(path, 'corkboard_sync.json'), 'utf8');
      rmSync(join(path, '.corkboard/unfinished', name), { recursive: true });
      if (hasFormer) mkdirSync(join(path, april));
      if (hasFormer) writeFileSync(join(path, monthFile('2018-04')), 'former');
      for (const _ of ['once', 'again']) await refused(path, /are lost/);
      assert.equal(readFileSync(join(path, 'corkboard_sync.json'), 'utf8'), state);
    }
  });
});

describe('a folder that is no copy', () => {
  it('is refused if it has files of these names, which stay', async () => {
    for (const name of ['events/own.parquet', 'users.parquet', 'boards.parquet', 'points.parquet']) {
      const { path } = await PARQUET.make(folder);
      mkdirSync(join(path, 'events'), { recursive: true });
      if (!name.startsWith('events')) rmSync(join(path, 'events'), { recursive: true });
      writeFileSync(join(path, name), 'own');
      await refused(path, /which does not belong to a copy/);
      assert.equal(readFileSync(join(path, name), 'utf8'), 'own');
      assert.ok(!existsSync(join(path, '.corkboard')));
    }
  });

  it('is refused if its path is a file, a bucket or a pattern', async () => {
    writeFileSync(join(folder, 'file'), '');
    await refused(join(folder, 'file'), /Cannot use the folder \(/);
    await refused(join(folder, 'copies[1]'), /must not contain/);
    await refused('s3://bucket/copies', /is in a folder \(--to parquet:FOLDER\)/);
  });

  it('is refused if its state is damaged, of a later version, or lacks a file', async () => {
    for (const [damage, message] of [
      [(path: string) => writeFileSync(join(path, 'corkboard_sync.json'), '{"source'), /are damaged/],
      [(path: string) => writeFileSync(join(path, 'corkboard_sync.json'), '{}'), /are damaged/],
      [(path: string) => writeFileSync(join(path, 'corkboard_sync.json'), '{"format":2}'), /a later version/],
      [(path: string) => rmSync(join(path, monthFile('2018-02'))), /lacks the file events\/month=2018-02/],
      [(path: string) => rmSync(join(path, 'users.parquet')), /lacks the file users\.parquet/],
    ] as const) {
      const { path } = await firstCopy();
      damage(path);
      await refused(path, message);
    }
  });

  it('is refused if its months are on a different file system, before anything is changed', async (t) => {
    const elsewhere = '/dev/shm';
    if (!existsSync(elsewhere) || statSync(elsewhere).dev === statSync(folder).dev)
      return t.skip('there is no second file system');
    const { path } = await firstCopy();
    const events = mkdtempSync(join(elsewhere, 'corkboard-'));
    t.after(() => rmSync(events, { recursive: true }));
    cpSync(join(path, 'events'), events, { recursive: true });
    rmSync(join(path, 'events'), { recursive: true });
    symlinkSync(events, join(path, 'events'));
    await refused(path, /must be on the same file system/);
    rmSync(join(path, 'events'));
    cpSync(events, join(path, 'events'), { recursive: true });
    await runWith({ address: `parquet:${path}`, rows: async () => [] }, [NO_CHANGES], 'second');
  });

  it('is refused if it cannot be locked', async () => {
    const { path } = await firstCopy();
    rmSync(join(path, '.corkboard/lock'));
    mkdirSync(join(path, '.corkboard/lock'));
    await refused(path, /^Cannot lock the folder/);
  });

  it('is refused while a different run writes into it', async () => {
    const place = await firstCopy();
    const target = await openTarget(place.address, { schema: 'community' });
    await target.transact(async (_copy, before) => {
      await refused(place.path, /a different program is using it/);
      return before ?? assert.fail();
    });
  });
});
