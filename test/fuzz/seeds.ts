/**
 * The files from which mutations start: small excerpts of real data, and documents written as in
 * the standards.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import { dumpOf, readReal } from '../ingest/formats/stack-exchange-dump.ts';
import { writeBundle } from '../model/bundle.ts';
import { filesOf, whyWithout } from '../real-data.ts';
import { WORLD } from '../world.ts';
import type { Files } from './mutations/documents.ts';

const DEMO = join(import.meta.dirname, '../../demo');
const EVENTS = 24;

type Row = Readonly<Record<string, string>>;

function written(text: string): Buffer {
  return Buffer.from(text);
}

function lines(values: readonly unknown[]): Buffer {
  return written(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

function readGzip(path: string): string {
  return gunzipSync(readFileSync(path)).toString('latin1');
}

/** The first lines of a file, byte for byte. */
function excerptOf(path: string, count: number): Buffer {
  return Buffer.from(readGzip(path).split('\n').slice(0, count).join('\n'), 'latin1');
}

/** The fixture data, written as a bundle. */
async function worldFiles(format: 'csv' | 'ndjson'): Promise<Files> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-seed-'));
  try {
    await writeBundle(folder, WORLD, format);
    return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Related rows of the demo: events, and the users, boards and pins to which they refer. */
function demoRows() {
  const rowsOf = (name: string) =>
    parse<Row>(gunzipSync(readFileSync(join(DEMO, name))), { columns: true }) as readonly Row[];
  const events = rowsOf('events.csv.gz').slice(0, EVENTS);
  const named = new Set(events.flatMap((event) => [event['owner_id'], event['actor_id']]));
  const onBoards = new Set(events.map((event) => event['board_id']));
  const pinned = new Set(events.map((event) => event['pin_id']));
  const pins = gunzipSync(readFileSync(join(DEMO, 'pins.ndjson.gz')))
    .toString('utf8')
    .trimEnd()
    .split('\n');
  return {
    events,
    users: rowsOf('users.csv.gz').filter(({ id }) => named.has(id)),
    boards: rowsOf('boards.csv.gz').filter(({ id }) => onBoards.has(id)),
    pins: pins.filter((line) => pinned.has(String(JSON.parse(line).id))).map((line) => JSON.parse(line)),
  };
}

function csvOf(rows: readonly Row[]): Buffer {
  const names = Object.keys(rows[0] ?? {});
  const cells = (row: Row) => names.map((name) => cellOf(row[name] ?? '')).join(',');
  return written(`${[names.join(','), ...rows.map(cells)].join('\n')}\n`);
}

function cellOf(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** In the form of JSON: identifiers as numbers, and no member for an empty cell. */
function recordOf(row: Row): Readonly<Record<string, unknown>> {
  const filled = Object.entries(row).filter(([, text]) => text !== '');
  return Object.fromEntries(
    filled.map(([name, text]) => [
      name,
      /^(?:\w+_)?id$/.test(name) && /^\d+$/.test(text) ? Number(text) : text,
    ]),
  );
}

export async function bundleCsv(): Promise<readonly Files[]> {
  const { users, boards, events } = demoRows();
  const demo = { 'users.csv': csvOf(users), 'boards.csv': csvOf(boards), 'events.csv': csvOf(events) };
  return [await worldFiles('csv'), demo];
}

export async function bundleNdjson(): Promise<readonly Files[]> {
  const { users, boards, pins, events } = demoRows();
  const demo = {
    'users.ndjson': lines(users.map(recordOf)),
    'boards.ndjson': lines(boards.map(recordOf)),
    'pins.ndjson': lines(pins),
    'events.ndjson': lines(events.map(recordOf)),
  };
  return [await worldFiles('ndjson'), demo];
}

export async function bundleJson(): Promise<readonly Files[]> {
  const bundles = await bundleNdjson();
  return bundles.map((files) =>
    Object.fromEntries(
      Object.entries(files).map(([name, bytes]) => {
        const records = bytes.toString('utf8').trimEnd().split('\n');
        return [name.replace('.ndjson', '.json'), written(`[\n${records.join(',\n')}\n]\n`)];
      }),
    ),
  );
}

/** Events as the API renders them, of the organization with the id 7. */
function nestedRecords(): readonly unknown[] {
  const { users, boards, pins, events } = demoRows();
  const personOf = (id = '') => {
    const { email, name, role, class_role } = users.find((user) => user['id'] === id) ?? {};
    return { id: Number(id), email, name, role, class_role };
  };
  const organization = { id: 7, name: 'School', domain: 'school.example', category_id: 9 };
  return events.map(({ type, action, owner_id, actor_id, board_id, pin_id, timestamp }) => {
    const { title, category } = boards.find(({ id }) => id === board_id) ?? {};
    const {
      created_at: _,
      board_id: __,
      owner_id: ___,
      ...pin
    } = pins.find(({ id }) => id === Number(pin_id)) ?? {};
    return {
      ...{ type, action, owner: personOf(owner_id), actor: personOf(actor_id), organization },
      ...(type === 'pin' && { pin: { id: pin.id, activity: action, ...pin } }),
      ...{ board: { id: Number(board_id), title, category }, timestamp },
    };
  });
}

export async function nestedEvents(): Promise<readonly Files[]> {
  const records = nestedRecords();
  return [
    { 'events.ndjson': lines(records) },
    { 'events.json': written(JSON.stringify(records)) },
    {
      'events-1.ndjson': lines(records.slice(0, 12)),
      'events-2.json': written(JSON.stringify(records.slice(8), null, 2)),
    },
  ];
}

/** Flat and nested events of the demo, with each compression that Parquet files commonly have. */
export async function parquetFiles(): Promise<readonly Files[]> {
  const [, { 'pins.ndjson': _, ...bundle } = {}] = await bundleNdjson();
  const [nested = {}] = await nestedEvents();
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-seed-'));
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    const sets: Files[] = [];
    for (const compression of ['uncompressed', 'snappy', 'zstd', 'gzip']) {
      for (const records of [bundle, nested]) {
        const files: Record<string, Buffer> = {};
        for (const [name, bytes] of Object.entries(records)) {
          const path = join(folder, name);
          await writeFile(path, bytes);
          await connection.run(
            `COPY (SELECT * FROM read_json('${path}', format = 'newline_delimited')) ` +
              `TO '${path}.parquet' (FORMAT parquet, COMPRESSION ${compression})`,
          );
          files[name.replace('.ndjson', '.parquet')] = readFileSync(`${path}.parquet`);
        }
        sets.push(files);
      }
    }
    return sets;
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(folder, { recursive: true });
  }
}

export async function xapiStatements(): Promise<readonly Files[]> {
  const course = {
    id: 'https://x.example/course/1',
    definition: {
      type: 'http://adlnet.gov/expapi/activities/course',
      name: { fr: 'Chimie', 'en-GB': 'Chemistry' },
    },
  };
  const statement = (place: number, actor: object, more: object = {}) => ({
    id: `12345678-1234-5678-1234-56781234567${place}`,
    actor,
    verb: { id: 'http://adlnet.gov/expapi/verbs/experienced' },
    object: {
      id: 'https://x.example/video/2',
      definition: { name: { fr: 'Acides' }, description: { en: 'Acid?' } },
    },
    context: { contextActivities: { parent: [course] }, instructor: { openid: 'https://x.example/bob' } },
    timestamp: '2024-03-31T01:30:00.123456Z',
    ...more,
  });
  const statements = [
    statement(1, { mbox: 'mailto:ada@x.example', name: 'Ada' }),
    statement(2, { mbox_sha1sum: 'ebd31e95054c018b10727ccffd2ef2ec3a016ee9' }),
    statement(
      3,
      { account: { homePage: 'https://x.example', name: 'u3' } },
      { stored: '2024-04-01T00:00:00Z' },
    ),
    statement(4, { objectType: 'Group', member: [{ mbox: 'mailto:bob@x.example' }] }),
    // A statement may have no id.
    statement(
      5,
      { openid: 'https://x.example/eve' },
      { id: undefined, result: { extensions: { 'https://x.example/e': [[1]] } } },
    ),
  ];
  const fixture = {
    'statements.ndjson': lines(statements),
    'more.json': written(JSON.stringify(statements)),
  };
  const real = whyWithout('xapi') === false ? filesOf('xapi') : [];
  return [fixture, ...real.map((path) => ({ 'statements.ndjson': excerptOf(path, EVENTS) }))];
}

export async function caliperEnvelopes(): Promise<readonly Files[]> {
  const section = { id: 'https://x.example/sections/1', type: 'CourseSection', name: 'Chemistry' };
  const thread = {
    ...{ id: 'https://x.example/forums/2/topics/1', type: 'Thread', name: 'Acids' },
    creators: [{ id: 'https://x.example/users/2', type: 'Person', name: 'Bob' }],
    isPartOf: { id: 'https://x.example/forums/2', type: 'Forum', isPartOf: section },
  };
  const event = (place: number, more: object) => ({
    '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p1',
    id: `urn:uuid:0d015a85-abf5-49ee-abb1-46dbd57fe6${place}`,
    actor: { id: 'https://x.example/users/1', type: 'Person', name: 'Ada' },
    eventTime: '2016-11-15T10:15:00.000Z',
    ...more,
  });
  const message = { id: `${thread.id}/messages/2`, type: 'Message', isPartOf: thread };
  const data = [
    event(40, { type: 'MessageEvent', action: 'Posted', object: message }),
    event(41, {
      type: 'ViewEvent',
      action: 'Viewed',
      object: { id: 'https://x.example/page', type: 'WebPage' },
      group: section,
    }),
    event(42, { type: 'ThreadEvent', action: 'MarkedAsRead', object: thread }),
    event(43, {
      type: 'NavigationEvent',
      action: 'NavigatedTo',
      object: { id: 'https://x.example/page', type: 'WebPage' },
      group: section,
    }),
    // Entities, and an event that refers to them by their identifiers.
    { ...section, '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p1' },
    {
      ...{ id: 'https://x.example/users/3', type: 'Person', name: 'Eve' },
      otherIdentifiers: [{ identifierType: 'EmailAddress', identifier: 'eve@x.example' }],
    },
    event(44, {
      ...{ type: 'ViewEvent', action: 'Viewed', group: section.id },
      ...{ actor: 'https://x.example/users/3', object: thread.id },
    }),
  ];
  const envelope = {
    ...{ sensor: 'https://x.example/sensors/1', sendTime: '2016-11-15T11:05:01.000Z' },
    ...{ dataVersion: 'http://purl.imsglobal.org/ctx/caliper/v1p2', data },
  };
  return [
    { 'caliper.ndjson': lines([envelope, { ...envelope, data: data.slice(1) }]) },
    { 'caliper.json': written(JSON.stringify([envelope], null, 1)) },
  ];
}

export async function moodleLogs(): Promise<readonly Files[]> {
  const fixture = written(
    'Time,User full name,Affected user,Event context,Component,Event name,Description,Origin,IP address\n' +
      `"17/10/21, 12:39",Ada,-,Course: Chemistry,System,Course viewed,The user with id '4' viewed the course with id '111'.,web,10.7.34.59\n` +
      `"18/10/21, 01:05",Bob,Ada,Course: Chemistry,System,User enrolled in course,The user with id '4' enrolled the user with id '5' using the enrolment method 'manual' in the course with id '111'.,web,10.7.34.59\n` +
      `"19/10/21, 23:59",Ada,-,File: Acids,File,Course module viewed,"The user with id '4' viewed the 'resource' activity with course module id '23'.",web,10.7.34.59\n`,
  );
  // Without real data, only the fixtures are mutated.
  const real = whyWithout('moodle-log') === false ? filesOf('moodle-log') : [];
  return [
    { 'log.csv': fixture },
    ...real.map((path, at) => ({ [`log-${at}.csv`]: excerptOf(path, EVENTS) })),
  ];
}

export async function discourseDocuments(): Promise<readonly Files[]> {
  const at = (minute: number) => new Date(Date.UTC(2024, 4, 1, 10, minute)).toISOString();
  const post = (id: number, number: number, user: number) => ({
    ...{ id, post_number: number, post_type: 1, user_id: user, username: `user${user}`, name: '' },
    ...{ created_at: at(id), cooked: `<p>${id}</p>`, topic_id: 1, deleted_at: null },
  });
  const posts = [post(10, 1, 7), post(11, 2, 8), post(12, 3, 7)];
  const topic = {
    ...{
      id: 1,
      title: 'Topic',
      archetype: 'regular',
      category_id: 5,
      tags: ['sky', { id: 1, name: 'blue' }],
    },
    post_stream: { posts, stream: posts.map(({ id }) => id) },
  };
  const categories = {
    category_list: {
      categories: [{ id: 5, name: 'Physics', subcategory_list: [{ id: 6, name: 'Optics' }] }],
    },
  };
  const like = {
    ...{ action_type: 1, created_at: at(50), post_id: 10, topic_id: 1, post_number: 1, user_id: 7 },
    ...{ acting_user_id: 8, acting_username: 'user8', acting_name: 'Name 8' },
  };
  return [
    {
      '1.json': written(JSON.stringify(topic, null, 2)),
      'categories.json': written(JSON.stringify(categories)),
      'likes.ndjson': lines([{ user_actions: [like] }, { user_actions: [like, like] }]),
      'post.json': written(JSON.stringify({ ...posts[0], topic_title: 'Topic', category_id: 5 })),
      'user-list.csv': written(
        'id,name,username,email,title,created_at,trust_level,group_names\n' +
          '7,Ada Lovelace,user7,ada@x.example,,2020-10-18 13:05:11 UTC,2,\n9,,user9,,,2021-10-18 13:05:11 UTC,0,"a;b"\n',
      ),
    },
  ];
}

/** A full roster, and changes of one. */
export async function rosters(): Promise<readonly Files[]> {
  const head = 'sourcedId,status,dateLastModified';
  const manifest = (mode: string) =>
    `propertyName,value\noneroster.version,1.2\nfile.users,${mode}\nfile.enrollments,${mode}\n`;
  return [
    {
      'manifest.csv': written(manifest('bulk')),
      'orgs.csv': written(`${head},name,type\no1,,,School,school\n`),
      'courses.csv': written(`${head},title,orgSourcedId\nc1,,,Chemistry,o1\n`),
      'classes.csv': written(`${head},title,courseSourcedId,schoolSourcedId\nk1,,,Acids,c1,o1\n`),
      'users.csv': written(
        `${head},username,givenName,familyName,email\nu1,,,ada,Ada,Lovelace,ada@x.example\nu2,,,bob,Bob,Stone,\n`,
      ),
      'roles.csv': written(`${head},userSourcedId,roleType,role\nr1,,,u1,primary,teacher\n`),
      'enrollments.csv': written(
        `${head},classSourcedId,userSourcedId,role\ne1,,,k1,u1,teacher\ne2,,,k1,u2,student\n`,
      ),
    },
    {
      'manifest.csv': written(manifest('delta')),
      'users.csv': written(
        `${head},username,givenName,familyName\nu3,active,2026-09-01T00:00:00Z,eve,Eve,Hill\nu4,tobedeleted,,,,\n`,
      ),
    },
  ];
}

/** A few rows of each table of a dump that is made from the demo. */
export async function stackExchangeDumps(): Promise<readonly Files[]> {
  const { users, pins, events } = readReal();
  const few = pins.slice(0, 8);
  const about = new Set(few.map(({ id }) => String(id)));
  const dump = dumpOf({
    users: users.slice(0, 12),
    pins: few,
    events: events.filter((event) => about.has(event['pin_id'] ?? '')).slice(0, EVENTS),
  });
  const { 'Comments.xml.gz': comments, 'Badges.xml': _, ...tables } = dump;
  const files = Object.entries(tables).map(([name, text]) => [name, Buffer.from(text)] as const);
  return [{ ...Object.fromEntries(files), 'Comments.xml': gunzipSync(comments) }];
}
