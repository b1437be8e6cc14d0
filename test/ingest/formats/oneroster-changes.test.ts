/** Rosters of OneRoster that change and delete what is published (decision 82). */
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Format } from '../../../src/ingest/formats/format.ts';
import { oneroster } from '../../../src/ingest/formats/oneroster.ts';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { type ImportOptions, importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { makeFolder } from '../temporary-folder.ts';
import { BULK, CLASSES, ENROLLMENTS, manifest, type RosterFiles, USERS, user } from './oneroster-files.ts';

describe('a roster of OneRoster with changes', () => {
  async function school(t: TestContext) {
    const folder = await makeFolder(t);
    const store = await openFolderStore(join(folder, 'data'));
    t.after(() => store.close());
    const load = async (
      files: RosterFiles,
      options: Partial<ImportOptions> = {},
      format: Format = oneroster,
    ) => {
      const place = await mkdtemp(join(folder, 'roster-'));
      for (const [name, text] of Object.entries(files)) await writeFile(join(place, name), text);
      const foreign = options.as === undefined ? { format, options: {} } : undefined;
      const paths = options.as === undefined ? [place] : Object.keys(files).map((name) => join(place, name));
      return await importBundle({ store, organization: 'school', paths, foreign, ...options });
    };
    const ids = async () => {
      const dataset = (await store.openDataset('school')) ?? assert.fail();
      try {
        const found: Record<string, bigint> = {};
        for await (const { id, name } of dataset.records('users')) {
          for (const [at, one] of id.entries()) found[name.at(at)] = one;
        }
        for await (const { id, title } of dataset.records('boards')) {
          for (const [at, one] of id.entries()) found[title.at(at)] = one;
        }
        return found;
      } finally {
        await dataset.close();
      }
    };
    return { load, ids, rejects: join(folder, 'rejects.ndjson') };
  }
  const DELTA = manifest('delta', '1.2', ['classes', 'enrollments', 'users']);
  const at = '2026-10-01T00:00:00.000Z';

  it('adds, changes and deletes users, boards and memberships', async (t) => {
    const { load, ids } = await school(t);
    await load(BULK);
    const report = await load({
      'manifest.csv': DELTA,
      'users.csv': `${USERS}${user('u3', 'tobedeleted', ',')}${user('u2', 'active', 'Avery,Smith')}${user('u4', 'active', 'New,One')}`,
      'enrollments.csv': `${ENROLLMENTS}e3,tobedeleted,${at},k2,o1,u1,student,,,\ne4,active,${at},k1,o1,u4,student,,,\n`,
      'classes.csv': `${CLASSES}k2,tobedeleted,${at},,,,,,,,,,,\n`,
    });
    assert.deepEqual(report.problems, []);
    assert.deepEqual(report.translated?.deleted, { boards: 1, memberships: 1, users: 1 });
    const { users, boards, memberships } = report.changes ?? assert.fail();
    assert.deepEqual([users.added, users.changed, users.deleted], [1, 1, 1]);
    assert.deepEqual([boards.deleted, memberships.added, memberships.deleted], [1, 1, 1]);
    assert.deepEqual(Object.keys(await ids()).sort(), [
      ...['Avery Smith', 'Jordan Lee', 'Mathematics, period 3', 'New One'],
    ]);
    const again = await load({
      'manifest.csv': DELTA,
      'users.csv': `${USERS}${user('u3', 'tobedeleted', ',')}${user('u9', 'tobedeleted', ',')}`,
    });
    assert.equal(again.outcome, 'unchanged');
  });

  it('keeps a deleted user to whom events refer only if it is skipped, and deletes the events with --cascade', async (t) => {
    const { load, ids, rejects } = await school(t);
    await load(BULK);
    const { 'Pat Oh': pat, 'Jordan Lee': jordan, Homeroom: board } = await ids();
    const events = `type,action,owner_id,actor_id,board_id,timestamp\nboard,visited,${jordan},${pat},${board},1767600000000\n`;
    await load({ 'events.csv': events }, { as: 'events' });
    const files = {
      'manifest.csv': DELTA,
      'users.csv': `${USERS}${user('u3', 'tobedeleted', ',')}${user('u4', 'active', 'New,One')}`,
    };
    const refused = await load(files);
    assert.equal(refused.outcome, 'refused');
    assert.match(refused.problems[0]?.reason ?? '', /still has 1 event; .*--cascade/);
    const skipped = await load(files, { skipInvalid: rejects });
    assert.deepEqual([skipped.outcome, skipped.rejected, skipped.changes?.users.added], ['published', 1, 1]);
    assert.ok('Pat Oh' in (await ids()));
    const cascaded = await load(files, { cascades: true });
    assert.deepEqual([cascaded.changes?.users.deleted, cascaded.changes?.events.deleted], [1, 1]);
  });

  it('replaces all memberships with those of a full delivery', async (t) => {
    const { load } = await school(t);
    await load(BULK);
    const fewer = { ...BULK, 'enrollments.csv': `${ENROLLMENTS}e1,,,k1,o1,u1,teacher,true,,\n` };
    assert.equal((await load(fewer)).outcome, 'unchanged', 'what is missing is kept');
    const replaced = await load(fewer, { replaced: ['memberships'] });
    assert.deepEqual(replaced.changes?.memberships.deleted, 2);
    const { 'enrollments.csv': _enrollments, ...without } = BULK;
    await assert.rejects(load(without, { replaced: ['memberships'] }), {
      code: 'import-refused',
      message: /--replace memberships requires at least one record/,
    });
  });

  it('replaces only kinds whose file contains all records by the manifest', async (t) => {
    const { load } = await school(t);
    await load(BULK);
    for (const [kind, file] of [
      ['users', 'users'],
      ['boards', 'classes'],
      ['memberships', 'enrollments'],
    ] as const) {
      const changed = manifest('bulk').replace(`file.${file},bulk`, `file.${file},delta`);
      await assert.rejects(load({ ...BULK, 'manifest.csv': changed }, { replaced: [kind] }), {
        code: 'option-malformed',
        message: new RegExp(`--replace ${kind} requires all ${kind}, but file\\.${file} .* is "delta"`),
      });
      const silent = manifest('bulk').replace(`file.${file},bulk\n`, '');
      await assert.rejects(load({ ...BULK, 'manifest.csv': silent }, { replaced: [kind] }), {
        code: 'option-malformed',
      });
      assert.equal((await load(BULK, { replaced: [kind] })).outcome, 'unchanged');
    }
    await assert.rejects(load(BULK, { replaced: ['pins'] }), {
      code: 'option-malformed',
      message: /format oneroster do not contain all pins\. Leave out --replace pins/,
    });
    await assert.rejects(load({ 'statements.ndjson': '{}\n' }, { replaced: ['users'] }, xapi), {
      code: 'option-malformed',
      message: /format xapi do not contain all users\. Leave out --replace users/,
    });
  });

  it('keeps the unknown owner when it replaces the users', async (t) => {
    const { load, ids } = await school(t);
    await load(BULK);
    const { 'Jordan Lee': jordan, Homeroom: board } = await ids();
    const users = 'id,email,name\n0,unknown@owner.invalid,Unknown\n1,bob@x.example,Bob\n';
    const events = `type,action,owner_id,actor_id,board_id,timestamp\nboard,visited,0,${jordan},${board},1767600000000\n`;
    await load({ 'users.csv': users }, { as: 'users' });
    await load({ 'events.csv': events }, { as: 'events' });
    const report = await load(BULK, { replaced: ['users'] });
    assert.deepEqual(report.problems, []);
    assert.equal(report.changes?.users.deleted, 1);
    assert.deepEqual(Object.keys(await ids()).sort(), [
      ...['Av Smith', 'Homeroom', 'Jordan Lee', 'Mathematics, period 3', 'Pat Oh', 'Unknown'],
    ]);
  });

  it('keeps a membership of which only one of several enrollments is deleted', async (t) => {
    const { load } = await school(t);
    await load(BULK);
    const row = (id: string, status: string, of = 'k1,o1,u2') => `${id},${status},${at},${of},student,,,\n`;
    const moved = [row('e2', 'tobedeleted'), row('e5', 'active'), row('e3', 'tobedeleted', 'k2,o1,u1')];
    for (const rows of [moved, moved.toReversed()]) {
      const report = await load({
        'manifest.csv': DELTA,
        'enrollments.csv': `${ENROLLMENTS}${rows.join('')}`,
      });
      assert.deepEqual(report.problems, []);
      assert.deepEqual(report.translated?.deleted, { memberships: 1 });
      assert.deepEqual(
        report.translated?.dropped.map(({ reason, count }) => [reason, count]),
        [['is to be deleted, but a different enrollment keeps the user in the class', 1]],
      );
      assert.equal(report.changes?.memberships.deleted, rows === moved ? 1 : 0);
    }
  });

  it('is refused if it names a user who is in no file and not published', async (t) => {
    const { load } = await school(t);
    const stray = { ...BULK, 'enrollments.csv': `${ENROLLMENTS}e1,,,k1,o1,u8,student,,,\n` };
    const report = await load(stray);
    assert.equal(report.outcome, 'refused');
    assert.match(report.problems[0]?.file ?? '', /enrollments\.csv$/);
  });
});
