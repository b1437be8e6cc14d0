/** Deletions in imports, and full deliveries (decision 82). */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { type ImportOptions, importBundle } from '../../src/ingest/import.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { idsOf, openPublished } from '../dataset/small-world.ts';

const ROSTER = {
  'users.csv':
    'id,email,name,lms.sis\n1,ann@x.example,Ann,S1\n2,bob@x.example,Bob,S2\n3,eve@x.example,Eve,\n',
  'boards.csv': 'id,title\n7,Welcome\n8,Empty\n',
  'pins.csv': 'id,board_id,owner_id,title\n100,7,2,Acids\n',
  'memberships.csv': 'board_id,user_id\n7,1\n7,3\n',
  'adjustments.csv':
    'user_id,board_id,points,timestamp,reason\n1,7,5,1767600000000,typo\n1,7,5,1767600000000,typo\n',
  'events.ndjson': [
    {
      id: 1,
      type: 'board',
      action: 'visited',
      owner_id: 1,
      actor_id: 2,
      board_id: 7,
      timestamp: 1_767_600_000_000,
    },
    {
      type: 'pin',
      action: 'visited',
      owner_id: 2,
      actor_id: 1,
      board_id: 7,
      pin_id: 100,
      timestamp: 1_767_600_000_001,
    },
    { type: 'board', action: 'visited', owner_id: 1, actor_id: 3, board_id: 7, timestamp: 1_767_600_000_002 },
  ]
    .map((event) => `${JSON.stringify(event)}\n`)
    .join(''),
} as const;

type Files = Readonly<Record<string, string>>;

describe('deletions in an import', () => {
  let folder: string;
  let store: VersionStore;
  let bundles = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-deletions-'));
    store = await openFolderStore(join(folder, 'data'));
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  async function load(organization: string, files: Files, options: Partial<ImportOptions> = {}) {
    bundles += 1;
    const path = join(folder, String(bundles));
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(path, name)), { recursive: true });
      await writeFile(join(path, name), text);
    }
    return await importBundle({ store, organization, paths: [path], ...options });
  }

  /** A new organization with the roster. */
  async function newSchool(): Promise<string> {
    const name = `school-${bundles}`;
    const { outcome, problems } = await load(name, ROSTER);
    assert.equal(outcome, 'published', JSON.stringify(problems));
    return name;
  }

  async function contentOf(organization: string) {
    const dataset = await openPublished(store, organization);
    const events: number[] = [];
    for await (const batch of dataset.events({ scope: FULL_SCOPE, range: {} }))
      events.push(...batch.timestampMs);
    const content = {
      users: await idsOf(dataset.records('users')),
      boards: await idsOf(dataset.records('boards')),
      pins: await idsOf(dataset.records('pins')),
      events: events.map((instantMs) => instantMs - 1_767_600_000_000),
    };
    await dataset.close();
    return content;
  }

  it('refuses to leave records that refer to what is deleted, and counts them', async () => {
    const school = await newSchool();
    const before = await contentOf(school);
    const files = { 'users.ndjson': '{"id":2,"deleted":true}\n', 'boards.csv': 'id,deleted\n8,\n7,true\n' };
    const { outcome, problems } = await load(school, { ...files, 'boards.csv': 'id,deleted\n7,true\n' });
    assert.equal(outcome, 'refused');
    assert.deepEqual(
      problems.map(({ line, field, reason }) => [line, field, reason]),
      [
        [1, 'deleted', 'user 2 still has 2 events, 1 pin; delete these as well, or use --cascade'],
        [
          2,
          'deleted',
          'board 7 still has 2 adjustments, 3 events, 2 memberships, 1 pin; delete these as well, or use --cascade',
        ],
      ],
    );
    assert.deepEqual(await contentOf(school), before);
  });

  it('deletes these, too, if it cascades', async () => {
    const school = await newSchool();
    const files = { 'users.csv': 'id,deleted\n2,true\n' };
    const dry = await load(school, files, { cascades: true, dryRun: true });
    const { changes, counts } = await load(school, files, { cascades: true });
    assert.deepEqual(dry.changes, changes);
    assert.deepEqual(
      Object.entries(changes ?? {}).map(([kind, { deleted }]) => [kind, deleted]),
      [
        ...[
          ['users', 1],
          ['boards', 0],
          ['pins', 1],
          ['memberships', 0],
          ['events', 2],
          ['points', 0],
        ],
        ['adjustments', 0],
      ],
    );
    assert.deepEqual(counts, { events: 1, users: 2, boards: 2, pins: 0 });
    assert.deepEqual(await contentOf(school), { users: [1n, 3n], boards: [7n, 8n], pins: [], events: [2] });
    const again = await load(school, files, { cascades: true });
    assert.equal(again.outcome, 'unchanged');
  });

  it('needs no cascade if everything that refers to it is deleted as well', async () => {
    const school = await newSchool();
    const pin = { type: 'pin', action: 'visited', owner_id: 2, actor_id: 1, board_id: 7, pin_id: 100 };
    const { outcome } = await load(school, {
      'users.csv': 'id,deleted\n2,true\n',
      'pins.csv': 'id,deleted\n100,true\n',
      'events.json': JSON.stringify([
        { id: 1, deleted: true },
        { ...pin, timestamp: 1_767_600_000_001, deleted: true },
      ]),
    });
    assert.equal(outcome, 'published');
    assert.deepEqual(await contentOf(school), { users: [1n, 3n], boards: [7n, 8n], pins: [], events: [2] });
  });

  it('takes the last record of a subject: deleted and given again, it is new', async () => {
    const school = await newSchool();
    const event = { id: 1, type: 'board', action: 'visited', owner_id: 1, actor_id: 2, board_id: 7 };
    const lines = [
      { ...event, id: 9, timestamp: 1_767_600_000_009 },
      { id: 9, deleted: true },
      { id: 1, deleted: true },
      { ...event, timestamp: 1_767_600_000_005 },
    ];
    const { changes } = await load(school, {
      'events.ndjson': lines.map((line) => JSON.stringify(line)).join('\n'),
    });
    assert.deepEqual(changes?.events, { added: 1, changed: 0, unchanged: 0, deleted: 1 });
    assert.deepEqual((await contentOf(school)).events, [1, 2, 5]);
  });

  it('frees addresses and other unique values for new users', async () => {
    const school = await newSchool();
    const users =
      'id,email,name,deleted\n3,,,true\n4,eve@x.example,Eve,\n1,bob@x.example,Ann,\n2,ann@x.example,Bob,\n';
    const { outcome, problems } = await load(school, { 'users.csv': users }, { cascades: true });
    assert.deepEqual(problems, []);
    assert.equal(outcome, 'published');
  });

  it('deletes what a full delivery lacks, and refuses a delivery without records', async () => {
    const school = await newSchool();
    const files = { 'memberships.csv': 'board_id,user_id\n7,1\n', 'boards.csv': 'id,title\n7,Welcome\n' };
    const { changes } = await load(school, files, { replaced: ['memberships', 'boards'] });
    assert.equal(changes?.memberships.deleted, 1);
    assert.deepEqual((await contentOf(school)).boards, [7n]);
    await assert.rejects(load(school, files, { replaced: ['users'] }), { code: 'import-refused' });
    const skipping = { replaced: ['boards'], skipInvalid: join(folder, 'rejects') } as const;
    await assert.rejects(load(school, files, skipping), { code: 'option-malformed' });
    const users = { 'users.csv': 'id,email,name\n1,ann@x.example,Ann\n3,eve@x.example,Eve\n' };
    const { problems } = await load(school, users, { replaced: ['users'] });
    assert.match(problems[0]?.reason ?? '', /^user 2 still has 2 events, 1 pin/);
  });

  it('keeps users who were forgotten', async () => {
    const school = await newSchool();
    await load(school, { 'users.ndjson': '{"id":2,"email":"b@x.example","name":"B","forgotten":true}\n' });
    const { outcome } = await load(school, { 'users.csv': 'id,deleted\n2,true\n' }, { cascades: true });
    assert.equal(outcome, 'unchanged');
    const rest = { 'users.csv': 'id,email,name\n1,ann@x.example,Ann\n3,eve@x.example,Eve\n' };
    assert.equal((await load(school, rest, { replaced: ['users'] })).outcome, 'unchanged');
    assert.deepEqual((await contentOf(school)).users, [1n, 2n, 3n]);
  });

  it('publishes the other records with a file of rejects', async () => {
    const school = await newSchool();
    const rejects = join(folder, 'rejects.ndjson');
    const files = { 'boards.csv': 'id,deleted\n7,true\n8,true\n' };
    const { rejected, changes } = await load(school, files, { skipInvalid: rejects });
    assert.equal(rejected, 1);
    assert.equal(changes?.boards.deleted, 1);
    assert.deepEqual((await contentOf(school)).boards, [7n]);
  });

  it('requires the fields that identify the record', async () => {
    const school = await newSchool();
    const files = {
      'events.ndjson': '{"type":"board","deleted":true}\n',
      'points.csv': 'user_id,deleted\n1,true\n',
    };
    const { problems } = await load(school, files);
    assert.deepEqual(
      problems.map(({ field, reason }) => `${field} ${reason}`),
      ['action is required', 'board_id is required, but is not in the header'],
    );
  });
});
