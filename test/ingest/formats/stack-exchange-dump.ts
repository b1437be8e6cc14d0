/**
 * The data of the demo comes from five real Stack Exchange sites and is stored as rows of events.
 * This file writes it in the form of the original dumps.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';

const DEMO = join(import.meta.dirname, '../../../demo');

type Row = Readonly<Record<string, string>>;

const escaped = (text: string) =>
  text.replace(/[&<>"\r\n]/g, (one) =>
    one === '\n' || one === '\r' ? `&#x${one.charCodeAt(0).toString(16)};` : `&#${one.charCodeAt(0)};`,
  );
export const row = (attributes: Readonly<Record<string, string | number | undefined>>) =>
  `  <row ${Object.entries(attributes)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${escaped(String(value))}"`]))
    .join(' ')} />`;
export const table = (name: string, rows: readonly string[]) =>
  `\ufeff<?xml version="1.0" encoding="utf-8"?>\r\n<${name}>\r\n${rows.map((one) => `${one}\r\n`).join('')}</${name}>`;
interface Pin {
  readonly id: number;
  readonly owner_id: number;
  readonly title: string;
  readonly body: string;
  readonly tags: readonly string[];
  readonly created_at: string;
}

export function readReal() {
  const unpacked = (name: string) => gunzipSync(readFileSync(join(DEMO, name))).toString('utf8');
  const rowsOf = (name: string) => parse<Row>(unpacked(name), { columns: true });
  const pins = unpacked('pins.ndjson.gz').trimEnd().split('\n');
  return {
    users: rowsOf('users.csv.gz'),
    pins: pins.map((line): Pin => JSON.parse(line)),
    events: rowsOf('events.csv.gz').filter(({ type }) => type === 'pin'),
  };
}

/**
 * Writes answers before their questions, which is allowed. Adds a post and a vote for each question
 * that give no events.
 */
export function dumpOf({ users, pins, events }: ReturnType<typeof readReal>) {
  const utc = (written = '') => written.replace('+00:00', '');
  const of = (action: string) => events.filter((event) => event['action'] === action);
  const answers = of('answered').map((event, at) => ({ event, id: 50_000_000 + at }));
  const answerOf = new Map(answers.map(({ event, id }) => [event['pin_id'], id]));
  const post = (id: number | string, type: number, more: Parameters<typeof row>[0]) =>
    row({ Id: id, PostTypeId: type, ...more, ContentLicense: 'CC BY-SA 4.0' });
  const posts = [
    ...answers.map(({ event: { pin_id, actor_id, timestamp }, id }) =>
      post(id, 2, {
        ParentId: pin_id,
        CreationDate: utc(timestamp),
        Body: '<p>x</p>',
        OwnerUserId: actor_id,
      }),
    ),
    ...pins.map(({ id, owner_id, title, body, tags, created_at }) =>
      post(id, 1, {
        ...{ CreationDate: utc(created_at), Body: body, OwnerUserId: owner_id, Title: title },
        Tags: id % 2 === 0 ? tags.map((tag) => `<${tag}>`).join('') : `|${tags.join('|')}|`,
      }),
    ),
    ...pins.map(({ id }) =>
      post(id + 90_000_000, 5, { CreationDate: '2020-01-01T00:00:00.000', OwnerUserId: -1 }),
    ),
  ];
  const comments = of('commented').map(({ pin_id, actor_id, timestamp }, at) =>
    // A comment may be about the question or about an answer to it.
    row({
      ...{
        Id: at + 1,
        PostId: at % 2 === 0 ? pin_id : (answerOf.get(pin_id) ?? pin_id),
        Score: 0,
        Text: 'a < b',
      },
      ...{ CreationDate: utc(timestamp), UserId: actor_id },
    }),
  );
  const votes = [
    ...of('bookmarked').map(({ pin_id, actor_id, timestamp }, at) =>
      row({ Id: at + 1, PostId: pin_id, VoteTypeId: 5, UserId: actor_id, CreationDate: utc(timestamp) }),
    ),
    ...pins.map(({ id }) =>
      row({ Id: id, PostId: id, VoteTypeId: 2, CreationDate: '2020-01-01T00:00:00.000' }),
    ),
  ];
  const people = users.map(({ id, name, created_at }) =>
    row({ Id: id, Reputation: 1, CreationDate: utc(created_at), DisplayName: name }),
  );
  return {
    'Posts.xml': table('posts', posts),
    'Comments.xml.gz': gzipSync(table('comments', comments)),
    'Votes.xml': table('votes', votes),
    'Users.xml': table('users', people),
    'Badges.xml': table('badges', [row({ Id: 1 })]),
  };
}
