/**
 * Descriptions of users, boards and pins from events of other software, merged with known ones; and
 * repeated events.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import { caliper } from '../../../src/ingest/formats/caliper.ts';
import { keyedDerivation } from '../../../src/ingest/formats/derivation.ts';
import type { Format, FormatOptions } from '../../../src/ingest/formats/format.ts';
import { moodleLog } from '../../../src/ingest/formats/moodle-log.ts';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { importBundle } from '../../../src/ingest/import.ts';
import { everybodyOf } from '../../dataset/record-columns.ts';
import { EMBEDDED, openStorage } from '../../storage.ts';
import { makeFolder } from '../temporary-folder.ts';

async function openSchool(t: TestContext) {
  const folder = await makeFolder(t);
  const storage = await openStorage(EMBEDDED, join(folder, 'data'));
  t.after(() => storage.close());
  const { store } = storage;
  let files = 0;
  const load = async (
    name: string,
    text: string,
    format?: Format,
    options: FormatOptions = {},
    skipInvalid?: string,
  ) => {
    files += 1;
    const place = await makeFolder(t, { [`${files}/${name}`]: text });
    const foreign = format && { format, options };
    return await importBundle({
      store,
      organization: 'school',
      paths: [join(place, String(files), name)],
      foreign,
      skipInvalid,
    });
  };
  const described = async () => {
    const dataset = await store.openDataset('school');
    assert.ok(dataset);
    try {
      const seen: string[] = [];
      for (const { email, name } of await everybodyOf(dataset.records('users')))
        seen.push(`${email} ${name}`);
      for (const runs of [dataset.records('boards'), dataset.records('pins')]) {
        for await (const { id, title } of runs) for (const at of id.keys()) seen.push(title.at(at));
      }
      const { events } = await dataset.tally({ scope: FULL_SCOPE, range: {} });
      return { seen: seen.sort(), events };
    } finally {
      await dataset.close();
    }
  };
  const secret = async () => (await store.organization('school')).secret;
  const forget = async (id: bigint) =>
    load('users.csv', `id,email,name,forgotten\n${id},gone@x.example,,true\n`);
  return { load, described, secret, forget };
}

const HEADER = 'Time,User full name,Affected user,Event context,Event name,Description';
const row = (time: string, id: number, name = '-') =>
  `"${time}",${name},-,Page: Acids,Course module viewed,The user with id '${id}' viewed the 'page' activity with course module id '9'.`;
const course = `"1/02/24, 08:00",-,-,Other,Course viewed,The user with id '4' viewed the course with id '111'.`;
const log = (...rows: readonly string[]) => [HEADER, course, ...rows].join('\n');
const IN_UTC = { timeZone: 'UTC', dateOrder: 'dmy' } as const;

const statement = (id: string, actor: object, object: object = {}) => ({
  id,
  actor: { mbox: 'mailto:ada@x.example', ...actor },
  verb: { id: 'http://x.example/verbs/viewed' },
  object: { id: 'http://x.example/page', ...object },
  context: { contextActivities: { parent: [{ id: 'http://x.example/course' }] } },
  timestamp: '2026-01-05T08:00:00Z',
});

const SECTION = { id: 'https://x.example/sections/1', type: 'CourseSection' };
const view = (id: number, actor: object, object: object = {}) => ({
  '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p2',
  ...{ id: `urn:uuid:${id}`, type: 'ViewEvent', action: 'Viewed', group: SECTION },
  actor: { id: 'https://x.example/users/1', type: 'Person', ...actor },
  object: { id: 'https://x.example/page', ...object },
  eventTime: '2026-01-05T08:00:00Z',
});
const envelope = (...data: readonly object[]) => ({
  sensor: 'https://x.example/sensor',
  sendTime: '2026-01-05T09:00:00Z',
  dataVersion: 'http://purl.imsglobal.org/ctx/caliper/v1p2',
  data,
});
const ADA = { name: 'Ada' };

it('a derived value replaces no known value, a given value does', async (t) => {
  const { load, described } = await openSchool(t);
  await load('users.csv', 'id,email,name\n4,ada@x.example,Ada\n');
  await load('boards.csv', 'id,title\n111,Chemistry\n');
  await load('log.csv', log(row('1/02/24, 09:00', 4), row('1/02/24, 09:01', 5)), moodleLog, IN_UTC);
  const first = await described();
  assert.deepEqual(first.seen, [
    ...['5@moodle.invalid User 5', 'Acids', 'Chemistry', 'ada@x.example Ada'],
    'unknown@owner.invalid Unknown',
  ]);
  await load('log.csv', log(row('1/02/24, 10:00', 5, 'Bob')), moodleLog, IN_UTC);
  assert.ok((await described()).seen.includes('5@moodle.invalid Bob'));
  await load('users.csv', 'id,email,name\n5,bob@x.example,Robert\n');
  await load('log.csv', log(row('1/02/24, 11:00', 5)), moodleLog, IN_UTC);
  assert.ok((await described()).seen.includes('bob@x.example Robert'));
});

it('a derived value replaces no given value within one import', async (t) => {
  const { load, described } = await openSchool(t);
  const named = statement('1', { name: 'Ada' }, { definition: { name: { en: 'Acids' } } });
  await load('all.json', JSON.stringify([statement('0', {}), named, statement('2', {})]), xapi);
  const { seen } = await described();
  assert.ok(seen.includes('ada@x.example Ada'));
  assert.ok(seen.includes('Acids'));
});

it('a name that a record gives is kept when other records leave it out', async (t) => {
  const { load, described } = await openSchool(t);
  const mails = { mbox: 'mailto:eve@x.example' };
  const { context, ...told } = statement('1', mails);
  const statements = [
    { ...told, context: { ...context, instructor: { ...mails, name: 'Eve' } } },
    { ...statement('2', {}), actor: { mbox: 'mailto:bob@x.example', name: 'Bob' } },
    { ...statement('3', mails), actor: mails },
  ];
  await load('all.json', JSON.stringify(statements), xapi);
  await load('envelope.json', JSON.stringify(envelope(view(1, ADA), view(2, {}))), caliper);
  const { seen } = await described();
  for (const name of ['eve@x.example Eve', 'bob@x.example Bob']) assert.ok(seen.includes(name), name);
  assert.equal(seen.filter((one) => one.endsWith(' Ada')).length, 1, seen.join());
});

it('the descriptions in a refused record are ignored', async (t) => {
  const { load, described } = await openSchool(t);
  const refused = envelope(view(1, ADA), { ...view(2, {}), eventTime: 'yesterday' });
  const lines = [refused, envelope(view(3, {}))].map((one) => JSON.stringify(one)).join('\n');
  const rejects = join(await makeFolder(t), 'rejects.ndjson');
  const report = await load('all.ndjson', lines, caliper, {}, rejects);
  assert.deepEqual([report.outcome, report.rejected], ['published', 1]);
  assert.equal((await described()).seen.filter((one) => one.includes(' Person ')).length, 1);
});

const voiding = (id: string, voided: string) => ({
  ...statement(id, {}, { objectType: 'StatementRef', id: voided }),
  verb: { id: 'http://adlnet.gov/expapi/verbs/voided' },
});
/** The same statements again, with the voiding ones first. */
const VOIDED_STATEMENTS = [
  voiding('v1', 'A'),
  voiding('v2', 'never'),
  statement('a', {}),
  statement('b', {}),
];

for (const [what, imports] of [
  ['an earlier import', [VOIDED_STATEMENTS.slice(2), VOIDED_STATEMENTS.slice(0, 2)]],
  ['the same import, before it', [VOIDED_STATEMENTS]],
  ['the same import, after it', [VOIDED_STATEMENTS.toReversed()]],
] as const) {
  it(`a voiding statement deletes the event of ${what}`, async (t) => {
    const { load, described } = await openSchool(t);
    let last: Awaited<ReturnType<typeof load>> | undefined;
    for (const statements of imports) last = await load('all.json', JSON.stringify(statements), xapi);
    assert.equal((await described()).events, 1);
    const position = imports.at(-1)!.indexOf(VOIDED_STATEMENTS[1]!) + 1;
    const place = `${last?.files[0]?.name}:1[${position}]`;
    assert.deepEqual(
      [last?.translated?.deleted, last?.translated?.dropped],
      [
        { events: 1 },
        [
          {
            reason: 'is about a voided statement that was not imported',
            count: 1,
            examples: [place],
          },
        ],
      ],
    );
    const again = await load('all.json', JSON.stringify(VOIDED_STATEMENTS), xapi);
    assert.equal(again.outcome, 'unchanged');
    assert.equal((await described()).events, 1);
  });
}

it('a statement that a store marks as voided is deleted, unless the mapping keeps it', async (t) => {
  const { load, described } = await openSchool(t);
  const text = (...all: readonly object[]) => all.map((one) => JSON.stringify(one)).join('\n');
  await load('all.ndjson', text(statement('a', {}), statement('b', {}), statement('c', {})), xapi);
  await load('all.ndjson', text({ statement: statement('a', {}), voided: true }), xapi);
  assert.equal((await described()).events, 2);
  const kept = await load('all.ndjson', text(voiding('v', 'b'), statement('d', {})), xapi, {
    mapping: { voided: null },
  });
  assert.deepEqual(kept.translated?.deleted, undefined);
  assert.equal((await described()).events, 3);
  const refused = await load('all.ndjson', text(voiding('v', 'never')), xapi);
  assert.equal(refused.outcome, 'refused');
});

describe('a person with an address and with its SHA-1', () => {
  const digest = (address: string) => ({ mbox: undefined, mbox_sha1sum: hash('sha1', `mailto:${address}`) });
  const byDigest = statement('1', digest('ada@x.example'));
  const byMail = statement('2', {});
  const upper = { mbox: 'mailto:Ada@X.example' };
  const USERS = 'id,email,name\n4,Ada@X.example,Ada\n';
  for (const [what, ...imports] of [
    ['in one import', [byDigest, byMail]],
    ['in one import, in the other order', [byMail, byDigest]],
    ['in two imports', [byDigest], [byMail]],
    ['in two imports, in the other order', [byMail], [byDigest]],
    ['with capitals in the address', [byDigest, statement('2', upper)]],
    ['with capitals in the digest', [statement('2', upper), statement('1', digest('Ada@X.example'))]],
    [
      'with capitals in the digits',
      [
        byMail,
        statement('1', { mbox: undefined, mbox_sha1sum: digest('ada@x.example').mbox_sha1sum.toUpperCase() }),
      ],
    ],
    ['of a published address', USERS, [byDigest]],
    ['of a published address with capitals', USERS, [statement('1', digest('Ada@X.example'))]],
  ] as const) {
    it(`is one user ${what}`, async (t) => {
      const { load, described } = await openSchool(t);
      for (const one of imports) {
        const isBundle = typeof one === 'string';
        const report = isBundle
          ? await load('users.csv', one)
          : await load('all.json', JSON.stringify(one), xapi);
        assert.deepEqual(report.problems, []);
      }
      const people = (await described()).seen.filter((seen) => seen.includes('@'));
      assert.equal(people.length, 2, people.join());
      assert.match(people[0] ?? '', /^ada@x\.example /i);
    });
  }

  it('keeps the id of an earlier version, also when forgotten', async (t) => {
    const { load, described, secret, forget } = await openSchool(t);
    await load('boards.csv', 'id,title\n1,Board\n');
    const earlier = keyedDerivation(await secret());
    const id = earlier.personOf({ text: 'mailto:ada@x.example', word: '', kind: 'mbox' }).id;
    await load('users.csv', `id,email,name\n${id},ada@x.example,Ada\n`);
    await load('all.json', JSON.stringify([byDigest, byMail]), xapi);
    assert.equal((await described()).seen.filter((seen) => seen.includes('@')).length, 2);
    assert.deepEqual((await forget(id)).problems, []);
    const { leftOut } = await load('all.json', JSON.stringify([statement('3', {})]), xapi);
    assert.ok(leftOut > 0);
  });
});

it('problems name users by their place, not by derived ids, and fields as the source does', async (t) => {
  const { load } = await openSchool(t);
  await load('users.csv', 'id,email,name\n4,ada@x.example,Ada\n');
  const inXapi = await load('all.json', JSON.stringify([statement('1', {})]), xapi);
  const otherIdentifiers = [{ identifierType: 'EmailAddress', identifier: 'Ada@x.example' }];
  const inCaliper = await load('all.json', JSON.stringify(envelope(view(1, { otherIdentifiers }))), caliper);
  assert.deepEqual(
    [...inXapi.problems, ...inCaliper.problems].map(({ field, reason }) => `${field}: ${reason}`),
    [
      'mbox: "ada@x.example" belongs to two users, 4 and the one of all.json:1; it must be unique',
      'otherIdentifiers: "Ada@x.example" belongs to two users, 4 and the one of all.json:1; it must be unique',
    ],
  );
});

it('rows are recognized in overlapping files, with a different zone and a different mapping', async (t) => {
  const { load, described } = await openSchool(t);
  const rows = ['09:00', '09:00', '09:01', '09:02', '09:02', '09:02'].map((time) =>
    row(`1/02/24, ${time}`, 4),
  );
  await load('log.csv', log(...rows.slice(0, 3)), moodleLog, IN_UTC);
  await load('log.csv', log(...rows.slice(2)), moodleLog, IN_UTC);
  assert.equal((await described()).events, rows.length + 1);
  assert.equal((await load('log.csv', log(...rows), moodleLog, IN_UTC)).outcome, 'unchanged');
  const inMuscat = { ...IN_UTC, timeZone: 'Asia/Muscat' };
  const moved = await load('log.csv', log(...rows), moodleLog, inMuscat);
  assert.deepEqual(
    [moved.changes?.events.added, moved.changes?.events.deleted],
    [rows.length + 1, rows.length + 1],
  );
  assert.equal((await load('log.csv', log(...rows), moodleLog, inMuscat)).outcome, 'unchanged');
  const mapping = { 'Course module viewed': 'pin.seen' };
  const mapped = await load('log.csv', log(...rows), moodleLog, { ...inMuscat, mapping });
  assert.equal(mapped.changes?.events.added, 0);
  assert.equal((await described()).events, rows.length + 1);
});
