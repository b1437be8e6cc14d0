import assert from 'node:assert/strict';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { AuditEntry } from '../../src/audit/audit-trail.ts';
import { ARCHIVED, checkTrail } from '../../src/audit/check-trail.ts';
import { openFolderTrail } from '../../src/audit/folder-trail.ts';
import { openSqliteCatalog, SqliteCatalog } from '../../src/store/catalog/sqlite-catalog.ts';

const base = mkdtempSync(join(tmpdir(), 'corkboard-audit-'));
after(() => rmSync(base, { recursive: true, force: true }));

const entry = (what: AuditEntry['what']): AuditEntry => ({
  time: '2026-11-25T00:00:00.000Z',
  command: 'keys create',
  organization: 'school',
  user: 'root',
  sudoUser: undefined,
  host: 'here',
  what,
});

const newFolder = () => mkdtempSync(join(base, 'data-'));
const filesOf = (data: string) => readdirSync(join(data, 'audit')).filter((name) => name.endsWith('.ndjson'));
const pathOf = (data: string, at = 0) => join(data, 'audit', filesOf(data).sort()[at]!);
const linesIn = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1);
const writeLines = (path: string, lines: readonly string[]) =>
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));

/** Adds records, the first of them with the number 1. */
async function append(data: string, count: number, mostBytes?: number): Promise<void> {
  const trail = openFolderTrail(data, mostBytes);
  try {
    for (let at = 0; at < count; at += 1) await trail.append(entry({ at }));
  } finally {
    await trail.close();
  }
}

/** Says that the records before a number were archived. */
async function archive(data: string, before: number): Promise<void> {
  const trail = openFolderTrail(data);
  await trail.append({ ...entry({ before }), command: ARCHIVED });
  await trail.close();
}

async function check(data: string): Promise<{ damage: string[]; notes: string[] }> {
  const trail = openFolderTrail(data);
  const damage: string[] = [];
  const notes: string[] = [];
  try {
    await checkTrail(trail, {
      damage: (line) => void damage.push(line),
      note: (line) => void notes.push(line),
    });
  } finally {
    await trail.close();
  }
  return { damage, notes };
}

/** Five records, after which `change` changes the lines of their file. */
async function damaged(change: (lines: string[]) => readonly string[]): Promise<readonly string[]> {
  const data = newFolder();
  await append(data, 5);
  writeLines(pathOf(data), change(linesIn(pathOf(data))));
  return (await check(data)).damage;
}

describe('the audit of a data folder', () => {
  it('is a chain of records in a file that only its owner can read', async () => {
    const data = newFolder();
    await append(data, 3);
    const records = linesIn(pathOf(data)).map((line) => JSON.parse(line));
    assert.deepEqual(
      records.map(({ sequence }) => sequence),
      [1, 2, 3],
    );
    assert.deepEqual(
      records.map(({ previous }) => previous),
      ['0'.repeat(64), records[0].digest, records[1].digest],
    );
    assert.equal(statSync(pathOf(data)).mode & 0o777, 0o600);
    assert.equal(statSync(join(data, 'audit', '.lock')).mode & 0o777, 0o600);
    assert.deepEqual(await check(data), { damage: [], notes: [] });
  });

  it('continues in a next file, which is named by its first record', async () => {
    const data = newFolder();
    await append(data, 5, 400);
    assert.deepEqual(filesOf(data).sort(), [
      'administration-000000000001.ndjson',
      'administration-000000000003.ndjson',
      'administration-000000000005.ndjson',
    ]);
    assert.deepEqual(await check(data), { damage: [], notes: [] });
  });

  it('is one chain when several processes add records at the same time', async () => {
    const data = newFolder();
    await append(data, 1);
    await Promise.all(Array.from({ length: 4 }, () => append(data, 3)));
    assert.equal(linesIn(pathOf(data)).length, 13);
    assert.deepEqual(await check(data), { damage: [], notes: [] });
  });
});

describe('the check of an audit', () => {
  const file = /^audit\/administration-000000000001\.ndjson, line /;

  it('finds a changed record', async () => {
    const [one, ...others] = await damaged((lines) => lines.with(2, lines[2]!.replace('school', 'skool!')));
    assert.match(one!, file);
    assert.match(one!, /line 3: the record was changed\. Keep the audit records as evidence/);
    assert.deepEqual(others, []);
  });

  it('finds a removed record, at the start as well', async () => {
    const inside = await damaged((lines) => lines.toSpliced(2, 1));
    assert.match(inside.join(), /line 3: before it, audit record 3 was removed/);
    const first = await damaged((lines) => lines.slice(1));
    assert.match(first.join(), /line 1: before it, records were removed/);
  });

  it('finds a changed order', async () => {
    const found = await damaged((lines) => [lines[0]!, lines[2]!, lines[1]!, lines[3]!, lines[4]!]);
    assert.match(found.join(), /line 3: record 2 is after record 3: the order was changed/);
  });

  it('finds a cut end, also after further records', async () => {
    const data = newFolder();
    await append(data, 5);
    writeLines(pathOf(data), linesIn(pathOf(data)).slice(0, 3));
    assert.match((await check(data)).damage.join(), /At the end, audit records 4 to 5 were removed/);
    await append(data, 1);
    assert.match((await check(data)).damage.join(), /line 4: before it, audit records 4 to 5 were removed/);
  });

  it('finds an end that was cut inside a record', async () => {
    const data = newFolder();
    await append(data, 3);
    truncateSync(pathOf(data), statSync(pathOf(data)).size - 10);
    assert.match((await check(data)).damage.join(), /At the end, audit record 3 was removed/);
    await append(data, 1);
    assert.match((await check(data)).damage.join(), /line 3: the record was changed/);
  });

  it('finds a record that was replaced by another one with its own digest', async () => {
    const other = newFolder();
    await append(other, 4);
    const trail = openFolderTrail(other);
    await trail.append(entry({ at: 'forged' }));
    await trail.close();
    const forged = linesIn(pathOf(other))[4]!;
    assert.match(
      (await damaged((lines) => lines.with(4, forged))).join(),
      /line 5: record 5 is not the one that was written last/,
    );
  });

  it('finds a removed file, but only notes files at the start, which can be archived', async () => {
    const data = newFolder();
    await append(data, 5, 400);
    rmSync(pathOf(data, 1));
    assert.match((await check(data)).damage.join(), /line 1: before it, audit records 3 to 4 were removed/);
    rmSync(pathOf(data, 0));
    const { damage, notes } = await check(data);
    assert.deepEqual(damage, []);
    assert.match(notes.join(), /The audit records 1 to 4 are not here\. .* digest [0-9a-f]{64}/);
    rmSync(pathOf(data, 0));
    assert.match((await check(data)).damage.join(), /At the end, audit records 1 to 5 were removed/);
  });

  it('finds that all records were removed, also after further ones, until they are said to be archived', async () => {
    for (const remove of [
      (path: string) => rmSync(path),
      (path: string) => writeFileSync(path, ''),
      (path: string) => truncateSync(path, 20),
    ]) {
      const data = newFolder();
      await append(data, 5);
      remove(pathOf(data));
      assert.equal((await check(data)).damage.length, 1);
      await append(data, 3);
      const { damage, notes } = await check(data);
      assert.equal(damage.length, 1, remove.toString());
      assert.deepEqual(notes, []);
    }
    const data = newFolder();
    await append(data, 5);
    const archived = pathOf(data);
    const lines = linesIn(archived);
    rmSync(archived);
    await append(data, 2, 1);
    const { damage, notes } = await check(data);
    assert.match(
      damage.join(),
      /^audit\/administration-0*6\.ndjson, line 1: when the record was written, audit records 1 to 5 were not here\. .* digest [0-9a-f]{64}\. .*--before 6"/,
    );
    assert.deepEqual([damage.length, notes], [1, []]);
    await archive(data, 5);
    assert.equal((await check(data)).damage.length, 1, 'not all of them');
    await archive(data, 6);
    const later = await check(data);
    assert.deepEqual(later.damage, []);
    assert.match(later.notes.join(), /The audit records 1 to 5 are not here/);
    writeLines(archived, lines);
    assert.deepEqual(await check(data), { damage: [], notes: [] }, 'back in its place');
    rmSync(archived);
    rmSync(pathOf(data));
    assert.match((await check(data)).notes.join(), /The audit records 1 to 6 are not here/);
    for (const name of filesOf(data)) rmSync(join(data, 'audit', name));
    await append(data, 1);
    assert.equal((await check(data)).damage.length, 1, 'lost again, with the statement');
  });

  it('finds records that no command has added', async () => {
    const data = newFolder();
    await append(data, 2);
    const catalog = openSqliteCatalog(data);
    const before = (await catalog.auditHead())!;
    await append(data, 2);
    await catalog.setAuditHead(before);
    await catalog.close();
    assert.match(
      (await check(data)).damage.join(),
      /At the end, audit record 4 was added by no command, or the catalog is an older one/,
    );
    await append(data, 1);
    assert.match((await check(data)).damage.join(), /record 3 is after record 4: the order was changed/);
    await append(data, 1);
    assert.notDeepEqual((await check(data)).damage, []);
  });

  it('is not misled by records that are added meanwhile', async () => {
    const data = newFolder();
    await append(data, 2);
    const trail = openFolderTrail(data);
    const found: string[] = [];
    const lines = trail.lines.bind(trail);
    trail.lines = async function* () {
      await append(data, 3);
      yield* lines();
    };
    const report = (message: string) => void found.push(message);
    await checkTrail(trail, { damage: report, note: report });
    await trail.close();
    assert.deepEqual(found, []);
  });

  it('accepts what a killed command leaves: a record after the head, or the start of a record', async () => {
    const data = newFolder();
    await append(data, 2);
    const catalog = openSqliteCatalog(data);
    const before = (await catalog.auditHead())!;
    await append(data, 1);
    await catalog.setAuditHead(before);
    assert.deepEqual(await check(data), { damage: [], notes: [] });
    await append(data, 1);
    assert.equal((await catalog.auditHead())!.sequence, 4);
    await catalog.close();
    writeFileSync(pathOf(data), '{"sequence":5,"time":"20', { flag: 'a' });
    const { damage, notes } = await check(data);
    assert.deepEqual(damage, []);
    assert.match(notes.join(), /line 5: the record is incomplete/);
    await append(data, 1);
    assert.deepEqual(await check(data), { damage: [], notes: [] });
    assert.equal(linesIn(pathOf(data)).length, 5);
  });

  it('accepts what several killed commands leave, one after the other', async (t) => {
    const data = newFolder();
    await append(data, 2);
    const setHead = SqliteCatalog.prototype.setAuditHead;
    let killedAt = 3;
    t.mock.method(SqliteCatalog.prototype, 'setAuditHead', async function (this: SqliteCatalog, head) {
      if (head.sequence === killedAt) throw new Error('killed');
      await setHead.call(this, head);
    } satisfies typeof setHead);
    for (killedAt = 3; killedAt < 6; killedAt += 1) {
      await assert.rejects(append(data, 1), /killed/);
      assert.deepEqual(await check(data), { damage: [], notes: [] });
    }
    assert.equal(linesIn(pathOf(data)).length, 5);
  });
});
