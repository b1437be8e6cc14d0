/** Records of an array on one line are told apart by their position, in every message. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { FormatName } from '../../src/ingest/formats/choices.ts';
import { FORMATS } from '../../src/ingest/formats/formats.ts';
import { importBundle } from '../../src/ingest/import.ts';
import { decodePlace, encodePlace, renderPlace } from '../../src/ingest/records/record-place.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { EVENTS, importFiles, USERS } from './imported-files.ts';
import { makeFolder } from './temporary-folder.ts';

const statement = (id: string, timestamp: string, more: object = {}) => ({
  ...{ id, timestamp, actor: { mbox: 'mailto:a@x.example' }, verb: { id: 'http://x.example/viewed' } },
  object: { id: 'https://x.example/page' },
  context: { contextActivities: { parent: [{ id: 'https://x.example/course' }] } },
  ...more,
});
const envelope = (event: object) => ({
  ...{
    sensor: 's',
    sendTime: '2026-01-05T08:00:00.000Z',
    data: [{ id: 'urn:uuid:1', type: 'Person' }, event],
  },
  dataVersion: 'http://purl.imsglobal.org/ctx/caliper/v1p2',
});
const GOOD = '2026-01-05T08:00:00Z';
const topic = (posts: readonly object[]) => ({ id: 1, title: 'T', category_id: 5, post_stream: { posts } });

/** The second of the records is invalid. */
const ARRAYS: readonly (readonly [FormatName, readonly object[], place: string])[] = [
  ['xapi', [statement('1', GOOD), statement('2', 'x'), statement('3', GOOD)], 'array.json:1[2] timestamp'],
  [
    'caliper',
    [envelope({ id: 'a', type: 'Person' }), envelope({ '@context': 'x' })],
    'array.json:1[2] data[2].@context',
  ],
  [
    'discourse',
    [topic([]), topic([{ id: 1, post_number: 'x' }])],
    'array.json:1[2] post_stream.posts[1].post_number',
  ],
];

describe('records of an array on one line', () => {
  for (const [name, records, place] of ARRAYS) {
    it(`have their position in findings: ${name}`, async (t) => {
      const foreign = { format: FORMATS[name], options: {} };
      const { report } = await importFiles(t, { 'array.json': JSON.stringify(records) }, { foreign });
      assert.deepEqual(
        report.problems.map((problem) => `${renderPlace('array.json', problem)} ${problem.field}`),
        [place],
      );
    });
  }

  it('have it in examples of dropped records', async (t) => {
    const records = [statement('1', GOOD), statement('2', GOOD, { context: {} })];
    const foreign = { format: FORMATS.xapi, options: {} };
    const { report } = await importFiles(t, { 'array.json': JSON.stringify(records) }, { foreign });
    assert.match(report.translated?.dropped[0]?.examples[0] ?? '', /array\.json:1\[2\]$/);
  });

  it('have it in findings of the store, and in the file of rejects', async (t) => {
    const events = [...EVENTS, { ...EVENTS[0], board_id: 9 }, { ...EVENTS[0], actor_id: 'x' }];
    const folder = await makeFolder(t, {
      'bundle/users.csv': USERS,
      'bundle/boards.json': '[\n{"id":3,"title":"B"}\n]',
      'bundle/events.json': JSON.stringify(events),
    });
    const store = await openFolderStore(join(folder, 'data'));
    t.after(() => store.close());
    const skipInvalid = join(folder, 'rejects.ndjson');
    const paths = [join(folder, 'bundle')];
    const report = await importBundle({ store, organization: 'school', paths, skipInvalid });
    const expected = [
      ['actor_id', 1, 4],
      ['board_id', 1, 3],
    ];
    assert.deepEqual(
      report.problems.map(({ field, line, index }) => [field, line, index]),
      expected,
    );
    assert.equal(report.changes?.events.added, 2);
    const rejects = (await readFile(skipInvalid, 'utf8')).trim().split('\n');
    assert.deepEqual(
      rejects.map((line) => JSON.parse(line)).map(({ field, line, index }) => [field, line, index]),
      expected,
    );
  });
});

describe('a place', () => {
  it('is the same after it was one number', () => {
    const line = fc.integer({ min: 0, max: 2 ** 53 - 1 });
    const shared = fc.record({
      line: fc.integer({ min: 1, max: 2 ** 26 - 1 }),
      index: fc.integer({ min: 1, max: 2 ** 26 - 1 }),
    });
    fc.assert(
      fc.property(fc.oneof(fc.record({ line }), shared), (place) => {
        const encoded = encodePlace(place);
        assert.ok(Number.isSafeInteger(encoded));
        assert.deepEqual(decodePlace(encoded), { ...place });
      }),
    );
    assert.deepEqual(decodePlace(encodePlace({ line: 7, index: 2 ** 26 })), { line: 7 });
    assert.deepEqual(decodePlace(encodePlace({ line: 2 ** 26, index: 1 })), { line: 2 ** 26 });
  });
});
