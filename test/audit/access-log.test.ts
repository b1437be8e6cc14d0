import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { accessPrefix, checkAccess, readAccess } from '../../src/audit/access-files.ts';
import { type AccessEntry, AccessLog } from '../../src/audit/access-log.ts';
import { CHAIN_START, chainRecord } from '../../src/audit/audit-record.ts';
import { numberedName } from '../../src/audit/line-files.ts';

const base = mkdtempSync(join(tmpdir(), 'corkboard-access-'));
after(() => rmSync(base, { recursive: true, force: true }));

const refuseLoss = (count: number) => assert.fail(`${count} records were lost`);
const newFolder = () => mkdtempSync(join(base, 'audit-'));
const entry = (bytes: number): AccessEntry => ({
  time: new Date().toISOString(),
  key: 'abcdefghijkl',
  organization: 'school',
  method: 'GET',
  route: '/a/v1/board/:id',
  ...{ boards: 'all', users: 2, representation: 'json', status: 200, rows: 5, bytes },
});

async function check(folder: string): Promise<{ damage: string[]; notes: string[] }> {
  const damage: string[] = [];
  const notes: string[] = [];
  await checkAccess(folder, {
    damage: (line) => void damage.push(line),
    note: (line) => void notes.push(line),
  });
  return { damage, notes };
}

// biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests are about
async function recordsIn(folder: string): Promise<any[]> {
  const records: unknown[] = [];
  for await (const { record } of readAccess(folder)) records.push(record?.members);
  return records;
}

describe('access records', () => {
  it('are one chain, in files of a limited size that only their owner can read', async () => {
    const folder = newFolder();
    const log = new AccessLog({ folder, onLost: refuseLoss, mostBytes: 20_000 });
    for (let at = 0; at < 350; at += 1) log.add(entry(at));
    await log.close();
    const files = readdirSync(folder).sort();
    assert.equal(files.length, 4);
    assert.equal(statSync(join(folder, files[0]!)).mode & 0o777, 0o600);
    const records = await recordsIn(folder);
    assert.deepEqual(
      records.map(({ sequence, bytes }) => [sequence, bytes]),
      Array.from({ length: 350 }, (_, at) => [at + 1, at]),
    );
    assert.deepEqual(await check(folder), { damage: [], notes: [] });
  });

  it('are written within about a second, without a call', async () => {
    const folder = newFolder();
    const log = new AccessLog({ folder, onLost: refuseLoss });
    log.add(entry(1));
    const sinceMs = performance.now();
    while ((await recordsIn(folder)).length === 0) {
      assert.ok(performance.now() - sinceMs < 10_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await log.close();
  });

  it('that cannot be written are counted, and the next record has their number', async () => {
    const folder = newFolder();
    let lost = 0;
    const onLost = (count: number) => {
      lost += count;
    };
    const log = new AccessLog({ folder, onLost });
    rmSync(folder, { recursive: true });
    for (let at = 0; at < 3; at += 1) log.add(entry(at));
    await log.flush();
    assert.equal(lost, 3);
    mkdirSync(folder);
    log.add(entry(3));
    await log.close();
    const records = await recordsIn(folder);
    assert.deepEqual(
      records.map(({ lost: number, bytes }) => [number, bytes]),
      [
        [3, undefined],
        [undefined, 3],
      ],
    );
    assert.deepEqual(await check(folder), { damage: [], notes: [] });
  });

  it('of several processes are read in the order of their times', async () => {
    const folder = newFolder();
    const writeChain = (process: number, startMs: number, offsets: readonly number[]) => {
      let head = CHAIN_START;
      const lines = offsets.map((offset) => {
        const time = new Date(startMs + offset).toISOString();
        const chained = chainRecord({ time, process, offset }, head);
        head = chained.head;
        return `${chained.line}\n`;
      });
      writeFileSync(join(folder, numberedName(accessPrefix(startMs, process), 1)), lines.join(''));
    };
    writeChain(7, 1_700_000_000_000, [0, 40, 80]);
    writeChain(3, 1_700_000_000_010, [10, 20, 90]);
    writeChain(5, 1_700_000_000_500, [0]);
    writeChain(9, 1_700_000_000_600, []);
    assert.deepEqual(
      (await recordsIn(folder)).map(({ process, offset }) => [process, offset]),
      [
        [7, 0],
        [3, 10],
        [3, 20],
        [7, 40],
        [7, 80],
        [3, 90],
        [5, 0],
      ],
    );
  });

  it('that were changed or removed are found, with file and line', async () => {
    const folder = newFolder();
    const log = new AccessLog({ folder, onLost: refuseLoss, mostBytes: 30_000 });
    for (let at = 0; at < 300; at += 1) log.add(entry(at));
    await log.close();
    const files = readdirSync(folder).sort();
    assert.equal(files.length, 3);
    const path = join(folder, files[1]!);
    const lines = readFileSync(path, 'utf8');
    writeFileSync(path, lines.replace('"bytes":120,', '"bytes":121,'));
    assert.match(
      (await check(folder)).damage.join(),
      new RegExp(`^${files[1]}, line 21: the record was changed`),
    );
    rmSync(path);
    assert.match(
      (await check(folder)).damage.join(),
      new RegExp(`^${files[2]}, line 1: before it, audit records 101 to 200 were removed`),
    );
    rmSync(join(folder, files[0]!));
    const { damage, notes } = await check(folder);
    assert.deepEqual(damage, []);
    assert.match(notes.join(), /^access-.*: The audit records 1 to 200 are not here/);
  });
});
