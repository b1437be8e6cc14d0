/**
 * Data dumps of Stack Exchange sites: real data, counted independently of the code, and the
 * possible errors in one.
 */
import assert from 'node:assert/strict';
import { createHmac, hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { FormatOptions } from '../../../src/ingest/formats/format.ts';
import { stackExchange } from '../../../src/ingest/formats/stack-exchange.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded, importTwice, tally } from './real-files.ts';
import { dumpOf, readReal, row, table } from './stack-exchange-dump.ts';

/**
 * The key from which ids of boards are derived, computed independently of the code from the secret
 * that a recording store has.
 */
const BOARDS = Buffer.from(hkdfSync('sha256', new Uint8Array(32), '', 'corkboard derived board', 32));
const numberOf = (text: string) =>
  String(createHmac('sha256', BOARDS).update(text).digest().readBigUInt64BE() & ((1n << 53n) - 1n));

describe('dumps of real Stack Exchange sites', () => {
  const real = readReal();
  const foreign = { format: stackExchange, options: {} };

  it('have the events of an independent count, by action, board and user; every row is accounted for', async (t) => {
    const folder = await makeFolder(t, dumpOf(real));
    const { report, records } = await importRecorded({ paths: [folder], foreign });
    const events = eventsOf(records);
    const actions = tally(
      real.events.map(({ action = '' }) => (action === 'answered' ? 'commented' : action)),
    );
    assert.ok(real.events.length > 16_000);
    assert.deepEqual(tally(events.map(({ action }) => action)), actions);
    assert.deepEqual(
      tally(events.map(({ actorId }) => String(actorId))),
      tally(real.events.map(({ actor_id = '' }) => actor_id)),
    );
    const tags = new Map(real.pins.map(({ id, tags: [tag = ''] }) => [String(id), tag]));
    assert.deepEqual(
      tally(events.map(({ boardId }) => String(boardId))),
      tally(real.events.map(({ pin_id = '' }) => numberOf(`stack-exchange tag ${tags.get(pin_id)}`))),
    );
    assert.deepEqual(
      tally(events.map(({ ownerId, pinId, timestampMs }) => `${ownerId} ${pinId} ${timestampMs}`)),
      tally(
        real.events.map((one) => `${one['owner_id']} ${one['pin_id']} ${Date.parse(one['timestamp'] ?? '')}`),
      ),
    );
    assert.deepEqual(report.translated?.described, { users: real.users.length });
    assert.deepEqual(
      report.translated?.dropped.map(({ reason, count }) => [reason, count]),
      [
        ['is not mapped to an event: tag wiki', real.pins.length],
        ['names no user: UpMod', real.pins.length],
      ],
    );
    assert.equal(report.records, events.length + real.users.length + 2 * real.pins.length);
    assert.deepEqual(report.passedOver, [join(folder, 'Badges.xml')]);
  });

  it('have their original names, titles, texts, tags and dates', async (t) => {
    const { records } = await importRecorded({ paths: [await makeFolder(t, dumpOf(real))], foreign });
    const last = new Map<string, object>();
    for (const { kind, record } of records)
      if ('id' in record)
        last.set(`${kind} ${record.id}`, { ...last.get(`${kind} ${record.id}`), ...given(record) });
    for (const { id, title, body, tags } of real.pins) {
      const pin = last.get(`pins ${id}`) ?? {};
      assert.deepEqual([pick(pin, 'title'), pick(pin, 'body'), pick(pin, 'tags')], [title, body, tags]);
    }
    for (const { id, name, created_at } of real.users) {
      const user = last.get(`users ${id}`) ?? {};
      assert.deepEqual([pick(user, 'name'), pick(user, 'createdMs')], [name, Date.parse(created_at ?? '')]);
    }
  });

  it('change nothing the second time', async (t) => {
    const paths = [await makeFolder(t, dumpOf(real))];
    const [first, second] = await importTwice(await makeFolder(t), { paths, foreign });
    assert.equal(first.changes?.events.added, real.events.length);
    assert.equal(second.outcome, 'unchanged');
  });
});

const pick = (record: object, name: string) => Reflect.get(record, name);
const given = (record: object) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));

describe('a dump', () => {
  const asked = {
    CreationDate: '2024-05-01T10:00:00.000',
    Title: 'Why?',
    Tags: '<sky><blue>',
    OwnerUserId: 4,
  };
  const question = row({ Id: 1, PostTypeId: 1, ...asked });
  const answer = row({
    Id: 2,
    PostTypeId: 2,
    ParentId: 1,
    CreationDate: '2024-05-02T10:00:00',
    OwnerUserId: 5,
  });

  async function imported(
    t: TestContext,
    files: Readonly<Record<string, readonly string[]>>,
    options: FormatOptions = {},
  ) {
    const written = Object.entries(files).map(([name, rows]) => [
      `${name}.xml`,
      table(name.toLowerCase(), rows),
    ]);
    const folder = await makeFolder(t, Object.fromEntries(written));
    const { report, records } = await importRecorded({
      paths: Object.keys(files).map((name) => join(folder, `${name}.xml`)),
      foreign: { format: stackExchange, options },
    });
    return { report, records, events: eventsOf(records) };
  }

  it('gives answers and comments their text', async (t) => {
    const when = { CreationDate: '2024-05-02T10:00:00' };
    const { events } = await imported(t, {
      Posts: [
        row({ Id: 1, PostTypeId: 1, ...asked, Body: '<p>Why?</p>' }),
        row({ Id: 2, PostTypeId: 2, ParentId: 1, OwnerUserId: 5, Body: '<p>So.</p>', ...when }),
      ],
      Comments: [
        row({ Id: 3, PostId: 2, UserId: 6, Text: 'Is it?', ...when }),
        row({ Id: 4, PostId: 2, UserId: 6, ...when }),
      ],
    });
    assert.deepEqual(
      events.map(({ action, body }) => [action, body]),
      [
        ['created', undefined],
        ['commented', '<p>So.</p>'],
        ['commented', 'Is it?'],
        ['commented', undefined],
      ],
    );
  });

  it('keeps control characters, and replaces what no record can hold', async (t) => {
    const [first, next] = [
      'CreationDate="2020-01-01T00:00:00.000"',
      'CreationDate="2020-01-02T00:00:00.000"',
    ];
    const { events, records, report } = await imported(t, {
      Posts: [
        `  <row Id="1" PostTypeId="1" ${first} Body="press &#x0E; now" OwnerUserId="5" Title="T&#xD83D;&#xDE00;" Tags="&lt;a&gt;" />`,
        `  <row Id="2" PostTypeId="2" ParentId="1" ${next} Body="x&#0;&#xD83D;y" OwnerUserId="6" />`,
        `  <row Id="3" PostTypeId="1" ${first} Body="y" OwnerUserId="5" Title="&#0;" Tags="&lt;a&gt;" />`,
        `  <row Id="4" PostTypeId="5" ${first} Body="&#0;" OwnerUserId="5" />`,
      ],
      Users: [
        `  <row Id="5" ${first} DisplayName="O&#x1;na&#xDE00;" AboutMe="" />`,
        `  <row Id="6" ${first} DisplayName="Ben" AboutMe="&#0;" />`,
      ],
    });
    assert.deepEqual(report.problems, []);
    assert.deepEqual(
      events.map(({ action, pinId, body }) => [action, pinId, body]),
      [
        ['created', 1n, undefined],
        ['commented', 1n, 'x\ufffd\ufffdy'],
        ['created', 3n, undefined],
      ],
    );
    const pins = records.filter(({ kind }) => kind === 'pins').map(({ record }) => record);
    assert.deepEqual(
      pins
        .flatMap((pin) => [[pick(pin, 'title'), pick(pin, 'body')]])
        .filter(([, body]) => body !== undefined),
      [
        ['T😀', 'press \u000e now'],
        ['\ufffd', 'y'],
      ],
    );
    const names = records.flatMap(({ kind, record }) => (kind === 'users' ? [pick(record, 'name')] : []));
    assert.ok(names.includes('O\u0001na\ufffd'));
    const [altered, ...others] = report.translated?.altered ?? [];
    assert.deepEqual(others, []);
    assert.equal(altered?.reason, 'contains NUL or half of a surrogate pair, imported as U+FFFD');
    assert.deepEqual(
      [altered?.count, altered?.examples.map((place) => place.replace(/.*\//, ''))],
      [3, ['Posts.xml:4', 'Posts.xml:5', 'Users.xml:3']],
    );
  });

  it('names the users who accepted an answer or bookmarked; public votes have no user', async (t) => {
    const vote = (id: number, type: number, post: number, user?: number) =>
      row({ Id: id, PostId: post, VoteTypeId: type, UserId: user, CreationDate: '2024-05-03T00:00:00.000' });
    const votes = [
      vote(1, 1, 2),
      vote(2, 5, 1, 6),
      vote(3, 2, 2),
      vote(4, 3, 2),
      vote(5, 77, 1),
      vote(6, 2, 2, 6),
    ];
    const { events, report } = await imported(t, { Posts: [question, answer], Votes: votes });
    assert.deepEqual(
      events.slice(2).map(({ action, actorId, ownerId, pinId }) => [action, actorId, ownerId, pinId]),
      [
        ['accepted', 4n, 4n, 1n],
        ['bookmarked', 6n, 4n, 1n],
        ['liked', 6n, 4n, 1n],
      ],
    );
    assert.deepEqual(report.translated?.dropped.map(({ reason }) => reason).sort(), [
      'is not mapped to an event: DownMod',
      'is not mapped to an event: VoteTypeId 77',
      'names no user: UpMod',
    ]);
  });

  it('keeps the pin of a question whose account is deleted, without a named owner', async (t) => {
    const orphan = row({ Id: 1, PostTypeId: 1, ...asked, OwnerUserId: undefined, OwnerDisplayName: 'gone' });
    const { events, records, report } = await imported(t, { Posts: [orphan, answer] });
    assert.deepEqual(
      events.map(({ actorId, ownerId }) => [actorId, ownerId]),
      [[5n, 0n]],
    );
    assert.equal(report.translated?.dropped[0]?.reason, 'names no user: question');
    const pins = records.filter(({ kind }) => kind === 'pins').map(({ record }) => pick(record, 'title'));
    assert.deepEqual(pins, ['Why?']);
  });

  it('is dropped if it lacks its posts, and gives untagged pins if it lacks its tags', async (t) => {
    const comment = row({ Id: 1, PostId: 9, Text: 'x', CreationDate: '2024-05-03T00:00:00.000', UserId: 4 });
    const { report } = await imported(t, { Comments: [comment], Badges: [row({ Id: 1 })] });
    assert.deepEqual(
      report.translated?.dropped.map(({ reason }) => reason),
      ['is about a post that is in none of the files: comment', 'is not mapped to an event: a row of badges'],
    );
    const bare = await imported(t, { Posts: [row({ Id: 1, PostTypeId: 1, ...asked, Tags: undefined })] });
    assert.equal(String(bare.events[0]?.boardId), numberOf('stack-exchange tag untagged'));
  });

  it('refuses rows that are damaged, each with its file, line and reason', async (t) => {
    const posts = [
      row({ Id: 1, PostTypeId: 1, ...asked, CreationDate: '01.05.2024' }),
      row({ Id: 'x', PostTypeId: 1, ...asked }),
      row({ Id: 3, PostTypeId: 2, CreationDate: '2024-05-02T10:00:00' }),
      '  <row Id="4"',
    ];
    const { report } = await imported(t, { Posts: posts });
    assert.equal(report.outcome, 'refused');
    assert.deepEqual(
      report.problems.map(({ line, field, reason }) => `${line} ${field}: ${reason}`),
      [
        '3 CreationDate: "01.05.2024" is not a time like 2010-08-25T19:50:51.187',
        '4 Id: is not an integer',
        '5 ParentId: is required',
        '6 : is not valid XML at character 12: Unclosed start tag for element `row`',
      ],
    );
  });

  it('can be mapped to other actions', async (t) => {
    const mapping = { question: 'board.asked', answer: null };
    const { events, report } = await imported(t, { Posts: [question, answer] }, { mapping });
    assert.deepEqual(
      events.map(({ type, action, pinId }) => [type, action, pinId]),
      [['board', 'asked', undefined]],
    );
    assert.equal(report.translated?.dropped[0]?.reason, 'is not mapped to an event: answer');
  });

  it('is refused with one sentence if it is not XML', async (t) => {
    const folder = await makeFolder(t, { 'posts.csv': 'Id\n1\n', empty: '' });
    const foreign = { format: stackExchange, options: {} };
    const paths = [join(folder, 'posts.csv')];
    const message = /posts\.csv: is a table, but stack-exchange is XML\.$/;
    await assert.rejects(importRecorded({ paths, foreign }), { code: 'option-malformed', message });
    await assert.rejects(importRecorded({ paths: [folder], foreign }), {
      message: /has no file of stack-exchange: the data dump/,
    });
  });
});
