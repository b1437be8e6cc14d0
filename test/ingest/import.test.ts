import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { Findings, type ReportedProblem } from '../../src/ingest/findings.ts';
import { importBundle } from '../../src/ingest/import.ts';
import type { ImportProgress } from '../../src/ingest/progress.ts';
import { decodePlace, renderPlace } from '../../src/ingest/records/record-place.ts';
import {
  BOARDS,
  EVENTS,
  importFiles,
  lines,
  nestedEvent,
  person,
  problemsOf,
  USERS,
} from './imported-files.ts';
import { openRecordingStore } from './recording-store.ts';
import { makeFolder } from './temporary-folder.ts';

test('a bundle is staged in the order in which its records refer to each other', async (t) => {
  const { report, store } = await importFiles(t, {
    'events.json.gz': gzipSync(JSON.stringify(EVENTS)),
    'boards.ndjson.zst': zstdCompressSync(BOARDS),
    'users.csv': USERS,
    'notes.txt': 'nothing',
  });
  assert.deepEqual(
    store.published.map(
      ({ kind, record: { file, line } }) => `${kind} ${renderPlace(`${file}`, decodePlace(line))}`,
    ),
    ['users 0:2', 'users 0:3', 'boards 1:1', 'boards 1:3', 'events 2:1[1]', 'events 2:1[2]'],
  );
  assert.equal(report.outcome, 'published');
  assert.equal(report.version, 'recorded');
  assert.equal(report.records, 6);
  assert.deepEqual(
    report.files.map(({ kind, records }) => [kind, records]),
    [
      ['users', 2],
      ['boards', 2],
      ['events', 2],
    ],
  );
  assert.equal(report.passedOver.length, 1);
  assert.doesNotThrow(() => JSON.stringify(report));
});

test('one invalid record refuses the import, and the report has every problem with its place', async (t) => {
  const imported = await importFiles(t, {
    'users.csv': 'id,email,name\n1,ada@x.example,Ada\nx,bob@x.example,Bob\n3,c@x.example\n',
    'boards.ndjson': '{"id":3,"title":"Board"}\n{"id":4}\nnonsense\n',
  });
  assert.equal(imported.report.outcome, 'refused');
  assert.equal(imported.report.published, false);
  assert.equal(imported.store.published.length, 0);
  assert.equal(imported.report.problemCount, 4);
  assert.equal(imported.report.rejected, 0);
  assert.deepEqual(problemsOf(imported).slice(0, 3), [
    ['users.csv', 3, 'id', '"x" is not an integer'],
    ['users.csv', 4, '', 'has 2 cells, but the header has 3'],
    ['boards.ndjson', 2, 'title', 'is required'],
  ]);
  assert.match(imported.report.problems[3]?.reason ?? '', /^is not valid JSON: /);
});

test('a record that repeats a member is invalid, also after nested events that the fast path reads', async (t) => {
  const nested = [5, 6].map((timestamp) => JSON.stringify(nestedEvent(timestamp, 7)));
  const twice = nested[1]?.replace('"actor":{"id":2,', '"actor":{"id":2,"id":1,') ?? '';
  const imported = await importFiles(t, {
    'boards.json': '[{"id":3,"title":"Board","id":4}]',
    'events.ndjson': [...nested, twice, twice.replace('"id":2,"id":1,', '"id":2,')].join('\n'),
  });
  assert.deepEqual(problemsOf(imported), [
    ['boards.json', 1, 'id', 'is given twice'],
    ['events.ndjson', 3, 'id', 'is given twice'],
  ]);
});

test('the first hundred problems are reported and the rest counted', async (t) => {
  const { report } = await importFiles(t, { 'boards.ndjson': '{}\n'.repeat(5000) });
  assert.equal(report.problems.length, 100);
  assert.equal(report.problemCount, 5000);
  assert.equal(report.problems[99]?.line, 100);
});

test('names that are no fields are shortened in the report, and whole in the file of rejects', async (t) => {
  const skipInvalid = join(await makeFolder(t), 'rejects.ndjson');
  const name = (record: number) => `${record} ${'n'.repeat(100_000)}`;
  const nested = JSON.stringify({ ...nestedEvent(1), [name(0)]: 1 });
  const files = {
    'events.ndjson': Array.from({ length: 120 }, (_, record) => nested.replace(name(0), name(record))).join(
      '\n',
    ),
    'boards.csv': `id,title,${name(0)}\n3,Board,x\n`,
    'users.ndjson': `{"id":1,"${name(0)}":1,"${name(0)}":2}\n{"id":${'9'.repeat(100_000)}}\n{"id":1,"email":${'9'.repeat(100_000)}}`,
  };
  const { report } = await importFiles(t, files, { skipInvalid });
  assert.deepEqual([report.problems.length, report.problemCount], [100, 124]);
  assert.equal(report.problems[0]?.field, `${name(0).slice(0, 60)}…`);
  assert.ok(report.problems.every(({ field, reason }) => field.length <= 61 && reason.length <= 700));
  assert.ok(JSON.stringify(report).length < 100_000);
  const rejects = (await readFile(skipInvalid, 'utf8')).trimEnd().split('\n');
  assert.equal(rejects.length, 124);
  const { field, record } = JSON.parse(rejects.at(-1) ?? '');
  assert.deepEqual([field, record], [name(119), nested.replace(name(0), name(119))]);
});

test('the findings of a report have at most 64 Ki characters, and the rest is counted', () => {
  const told: ReportedProblem[] = [];
  const findings = new Findings(['f'.repeat(4000)], undefined, {
    onProblem: (problem) => told.push(problem),
  });
  for (let line = 1; line <= 100; line += 1) {
    findings.add({ file: 0, line, field: 'n'.repeat(1_000_000), reason: 'r'.repeat(1_000_000) });
  }
  assert.equal(findings.count, 100);
  assert.deepEqual(findings.first, told.slice(0, 13));
  assert.ok(told.every(({ field, reason }) => field.length + reason.length < 1100));
});

test('a problem that the store finds refuses the import, too', async (t) => {
  const folder = await makeFolder(t, { 'users.csv': USERS });
  const store = openRecordingStore({ school: 7n });
  store.wrong.push({ file: 0, line: 3, field: 'email', reason: 'is taken' });
  const report = await importBundle({ store, organization: 'school', paths: [folder] });
  assert.equal(report.outcome, 'refused');
  assert.deepEqual(report.problems, [
    { file: join(folder, 'users.csv'), line: 3, field: 'email', reason: 'is taken' },
  ]);
  assert.equal(store.published.length, 0);
});

test('--skip-invalid publishes the valid records and keeps every invalid one as it was read', async (t) => {
  const rejectsFolder = await makeFolder(t);
  const skipInvalid = join(rejectsFolder, 'rejects.ndjson');
  const users = `id,email,name\n${'x,y@x.example,"Y\nZ"\n'.repeat(3000)}1,ada@x.example,Ada\n`;
  const { report, store, folder } = await importFiles(t, { 'users.csv': users }, { skipInvalid });
  assert.equal(report.outcome, 'published');
  assert.equal(report.rejected, 3000);
  assert.deepEqual(
    store.published.map(({ record }) => [record.line, record.raw]),
    [[6002, '1,ada@x.example,Ada']],
  );
  const rejects = (await readFile(skipInvalid, 'utf8')).trimEnd().split('\n');
  assert.equal(rejects.length, 3000);
  assert.deepEqual(JSON.parse(rejects[2999] ?? ''), {
    file: join(folder, 'users.csv'),
    line: 6000,
    field: 'id',
    reason: '"x" is not an integer',
    record: 'x,y@x.example,"Y\nZ"',
  });
  assert.deepEqual(await readdir(rejectsFolder), ['rejects.ndjson']);
});

test('a file of rejects that cannot be written, or would replace an input, is a usage error', async (t) => {
  const folder = await makeFolder(t, { 'users.csv': USERS });
  for (const skipInvalid of ['-', join(folder, '.', 'users.csv'), join(folder, 'no', 'rejects.ndjson')]) {
    const store = openRecordingStore({ school: 7n });
    await assert.rejects(importBundle({ store, organization: 'school', paths: [folder], skipInvalid }), {
      code: 'option-malformed',
    });
  }
  assert.equal(await readFile(join(folder, 'users.csv'), 'utf8'), USERS);
});

test('an organization that does not exist is created as the events describe it', async () => {
  const store = openRecordingStore();
  const stdin = Readable.from([Buffer.from(lines([nestedEvent(1), nestedEvent(2), nestedEvent(3, 71)]))]);
  const report = await importBundle({ store, organization: 'new', paths: ['-'], as: 'events', stdin });
  const { settings } = await store.organization('new');
  assert.deepEqual(
    [settings.id, settings.title, settings.domain, settings.categoryId],
    [70n, 'School', 'x.example', 9n],
  );
  assert.deepEqual(
    report.problems.map(({ line, field, reason }) => [line, field, reason]),
    [[3, 'organization.id', 'is 71, but the id of the organization is 70']],
  );
});

test('events of an organization whose id belongs to a different one here are refused', async (t) => {
  const folder = await makeFolder(t, { 'events.ndjson': lines([nestedEvent(1)]) });
  const store = openRecordingStore({ school: 70n });
  await assert.rejects(importBundle({ store, organization: 'new', paths: [folder] }), {
    code: 'organization-exists',
    message:
      'The events belong to the organization with id 70, but a different organization here has this id.',
  });
});

test('a description in events is staged once, and again when it changes', async () => {
  const store = openRecordingStore({ school: 70n });
  const renamed = { ...nestedEvent(3), actor: { ...person(2), name: 'New' } };
  const stdin = Readable.from([
    Buffer.from(lines([nestedEvent(1), nestedEvent(2), renamed, nestedEvent(4)])),
  ]);
  await importBundle({ store, organization: 'school', paths: ['-'], as: 'events', stdin });
  assert.deepEqual(
    store.published.map(({ kind, record }) => `${kind} ${record.line}`),
    ['users 1', 'users 1', 'users 3', 'users 4', 'boards 1', 'events 1', 'events 2', 'events 3', 'events 4'],
  );
});

test('a dry run publishes nothing and creates no organization', async (t) => {
  const { report, store, folder } = await importFiles(t, { 'users.csv': USERS }, { dryRun: true });
  assert.equal(report.outcome, 'checked');
  assert.equal(report.published, false);
  assert.equal(report.changes?.users.added, 2);
  assert.equal(store.published.length, 0);

  const scratch = openRecordingStore();
  const openScratchStore = async () => scratch;
  const options = { store, organization: 'new', paths: [folder], dryRun: true };
  assert.equal((await importBundle({ ...options, openScratchStore })).changes?.users.added, 2);
  assert.ok(scratch.isClosed);
  await assert.rejects(importBundle(options), { code: 'organization-unknown' });
  await assert.rejects(store.organization('new'), { code: 'organization-unknown' });
});

test('progress ends with all bytes and all records of a file', async (t) => {
  const seen: ImportProgress[] = [];
  const onProgress = (progress: ImportProgress) => seen.push(progress);
  await importFiles(t, { 'users.csv': USERS, 'boards.ndjson': BOARDS }, { onProgress });
  const { bytesRead, bytesTotal, records } = seen.at(-1) ?? {};
  assert.deepEqual([bytesRead, bytesTotal, records], [(USERS + BOARDS).length, (USERS + BOARDS).length, 4]);
});

test('instants with an offset of hours alone are read in CSV and JSON', async (t) => {
  const json = { ...EVENTS[0], owner_id: 1, board_id: 10, timestamp: '2025-03-01 10:00:00.25+00' };
  const { report, store } = await importFiles(t, {
    'users.csv': 'id,email,name,created_at\n1,ona@school.example,Ona Fir,2025-02-01 09:00:00+00\n',
    'boards.csv': 'id,title\n10,Botany\n',
    'events.csv': `type,action,owner_id,actor_id,board_id,pin_id,timestamp
board,followed,1,1,10,,2025-03-01 10:00:00.25+00
board,visited,1,1,10,,2025-03-01 15:30:00+05:30
`,
    'events.ndjson': lines([json]),
  });
  assert.deepEqual(report.problems, []);
  const instants = store.published.flatMap(({ record }) => {
    const { createdMs, timestampMs } = { createdMs: undefined, timestampMs: undefined, ...record };
    const instantMs = timestampMs ?? createdMs;
    return instantMs === undefined ? [] : [new Date(instantMs).toISOString()];
  });
  assert.deepEqual(instants, [
    '2025-02-01T09:00:00.000Z',
    '2025-03-01T10:00:00.250Z',
    '2025-03-01T10:00:00.000Z',
    '2025-03-01T10:00:00.250Z',
  ]);
});
