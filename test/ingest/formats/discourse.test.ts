/**
 * Documents of Discourse, made after its documentation: the records they give, and their possible
 * errors.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { discourse } from '../../../src/ingest/formats/discourse.ts';
import type { FormatOptions } from '../../../src/ingest/formats/format.ts';
import { makeFolder } from '../temporary-folder.ts';
import { eventsOf, importRecorded, importTwice, tally } from './real-files.ts';

const at = (minute: number) => new Date(Date.UTC(2024, 4, 1, 10, minute)).toISOString();

const post = (id: number, number: number, user: number, more: object = {}) => ({
  ...{ id, post_number: number, post_type: 1, user_id: user, username: `user${user}`, name: '' },
  ...{ created_at: at(id), cooked: `<p>${id}</p>`, topic_id: 1, deleted_at: null, ...more },
});

const topic = <Post extends { readonly id: number }>(
  id: number,
  posts: readonly Post[],
  more: object = {},
) => ({
  ...{
    id,
    title: `Topic ${id}`,
    archetype: 'regular',
    category_id: 5,
    tags: ['sky', { id: 1, name: 'blue' }],
  },
  post_stream: { posts, stream: posts.map((one) => one.id) },
  ...more,
});

const CATEGORIES = {
  category_list: {
    can_create_category: false,
    categories: [{ id: 5, name: 'Physics', subcategory_list: [{ id: 6, name: 'Optics' }] }],
  },
};

const like = (id: number, who: number, type = 1) => ({
  ...{ action_type: type, created_at: at(50), post_id: id, topic_id: 1, post_number: 1, user_id: 7 },
  ...{ acting_user_id: who, acting_username: `user${who}`, acting_name: `Name ${who}` },
});

const USERS =
  'id,name,username,email,title,created_at,trust_level,group_names\n' +
  '7,Ada Lovelace,user7,ada@x.example,,2020-10-18 13:05:11 UTC,2,\n' +
  '9,,user9,,,2021-10-18 13:05:11 UTC,0,"a;b"\n';

const written = (value: unknown) => JSON.stringify(value, null, 2);
const FILES = {
  '1.json': written(
    topic(1, [post(10, 1, 7, { raw: 'Why?' }), post(11, 2, 8), post(12, 3, 7, { raw: 'So.' })]),
  ),
  'categories.json': written(CATEGORIES),
  'likes.ndjson': [
    { user_actions: [like(10, 8), like(10, 9), like(11, 7)] },
    { user_actions: [like(10, 8, 2)] },
  ]
    .map((one) => JSON.stringify(one))
    .join('\n'),
  'user-list.csv': USERS,
};

async function imported(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  options: FormatOptions = {},
) {
  const folder = await makeFolder(t, files);
  const foreign = { format: discourse, options };
  const { report, records } = await importRecorded({ paths: [folder], foreign });
  // As in a store, an absent field keeps its earlier value.
  const found = (wanted: string, id: bigint) =>
    Object.fromEntries<unknown>(
      records
        .filter(({ kind, record }) => kind === wanted && 'id' in record && record.id === id)
        .flatMap(({ record }) => Object.entries(record).filter(([, value]) => value !== undefined)),
    );
  const dropped = Object.fromEntries(
    report.translated?.dropped.map(({ reason, count }) => [reason, count]) ?? [],
  );
  return { report, found, dropped, events: eventsOf(records) };
}

describe('documents of Discourse', () => {
  it('become events: topics pins, replies comments, categories boards, likes if they name a user', async (t) => {
    const { events, report } = await imported(t, FILES);
    assert.deepEqual(
      events.map(({ type, action, actorId, ownerId, boardId, pinId, body }) =>
        [`${type}.${action}`, actorId, ownerId, boardId, pinId, body].join(' ').trim(),
      ),
      [
        'pin.created 7 7 5 1',
        'pin.commented 8 7 5 1 <p>11</p>',
        'pin.commented 7 7 5 1 So.',
        'pin.liked 8 7 5 1',
        'pin.liked 9 7 5 1',
        'pin.liked 7 7 5 1',
        'pin.liked 8 7 5 1',
      ],
    );
    assert.equal(new Set(events.map(({ id }) => id)).size, 6, 'both sides record the same like');
    assert.equal(events[0]?.timestampMs, Date.parse(at(10)));
    assert.deepEqual(report.translated?.described, { boards: 2, users: 2 });
    assert.deepEqual(report.translated?.dropped, []);
  });

  it('describe users, boards and pins', async (t) => {
    const { found } = await imported(t, FILES);
    const { title, body, tags, ownerId } = found('pins', 1n);
    assert.deepEqual([title, body, tags, ownerId], ['Topic 1', 'Why?', ['sky', 'blue'], 7n]);
    assert.deepEqual([found('boards', 5n)['title'], found('boards', 6n)['title']], ['Physics', 'Optics']);
    const ada = found('users', 7n);
    assert.deepEqual(
      [ada['name'], ada['email'], ada['createdMs']],
      ['Ada Lovelace', 'ada@x.example', Date.UTC(2020, 9, 18, 13, 5, 11)],
    );
    assert.deepEqual(
      [found('users', 9n)['name'], found('users', 9n)['email']],
      ['user9', '9@discourse.invalid'],
    );
    assert.equal(found('users', 8n)['name'], 'Name 8');
  });

  it('change nothing when they are imported again, in whole or in part', async (t) => {
    const foreign = { format: discourse, options: {} };
    const paths = [await makeFolder(t, FILES)];
    const [first, second] = await importTwice(await makeFolder(t), { paths, foreign });
    assert.deepEqual([first.outcome, first.changes?.events.added], ['published', 6]);
    assert.equal(second.outcome, 'unchanged');
  });

  it('are dropped in part, with the reason', async (t) => {
    const posts = [
      post(10, 1, 7),
      post(11, 2, 7, { post_type: 3 }),
      post(12, 3, 7, { post_type: 4 }),
      post(13, 4, 7, { deleted_at: at(14) }),
      post(14, 5, 7, { user_id: null }),
      post(17, 7, 7, { user_deleted: true, cooked: '<p>(post deleted by author)</p>' }),
    ];
    const { dropped, events } = await imported(t, {
      'topics.json': written([
        topic(1, posts, { post_stream: { posts, stream: [10, 11, 12, 13, 14, 15, 16, 17, 99] } }),
        topic(2, [post(20, 1, 7)], { archetype: 'private_message', category_id: null }),
        topic(3, [post(30, 1, 7)], { category_id: null }),
        { id: 1, post_stream: { posts: [post(15, 6, 8)] } },
        { id: 4, post_stream: { posts: [post(40, 21, 8)] } },
        { user_actions: [like(10, 8, 5), { ...like(10, 8), topic_id: 77 }], categories: [] },
      ]),
    });
    assert.deepEqual(
      events.map(({ actorId, pinId }) => [actorId, pinId]),
      [
        [7n, 1n],
        [8n, 1n],
      ],
    );
    assert.deepEqual(dropped, {
      'is not a post, but a note of the system': 1,
      'is not a post, but a whisper': 1,
      'was deleted': 2,
      'names no user: reply': 1,
      'is listed in its topic, but is in no file: request all posts, with ?print=true': 2,
      'is part of a private message': 1,
      'belongs to a topic without a category': 1,
      'is about a topic that is in none of the files: reply': 1,
      'is neither a like nor an accepted answer, but a user action of type 5': 1,
      'is about a topic that is in none of the files: like': 1,
    });
  });

  it('are refused where they are damaged, with the place', async (t) => {
    const { report } = await imported(t, {
      'a.ndjson': [
        topic(1, [post(10, 1, 7, { created_at: 'yesterday' })]),
        topic(2, [post(20, 1, 7), post(21, 2, 7, { post_number: 'x' })]),
        { id: 3, post_stream: {} },
        { about: {} },
        { user_actions: [{ ...like(10, 8), acting_user_id: null }] },
      ]
        .map((one) => JSON.stringify(one))
        .join('\n'),
      'b.csv': 'username,email\nada,ada@x.example\n',
    });
    assert.equal(report.outcome, 'refused');
    assert.deepEqual(
      report.problems.map(({ line, field, reason }) => `${line} ${field}: ${reason.slice(0, 40)}`),
      [
        '1 timestamp: "yesterday" is neither an ISO 8601 date-',
        '2 post_stream.posts[2].post_number: is not an integer',
        '3 post_stream.posts: must be a list of objects',
        '4 : is not a topic, a post, categories, user',
        '5 user_actions[1].acting_user_id: is required',
        '1 id: is not in the header; files of discourse',
      ],
    );
  });

  it('give staff a role, and everyone in a list that says who is staff', async (t) => {
    const list =
      'id,username,trust_level,admin,moderator\n7,user7,2,true,false\n8,user8,2,false,true\n9,user9,0,false,false\n';
    const posts = [
      post(10, 1, 7, { admin: true, moderator: true, staff: true }),
      post(11, 2, 8, { admin: false, moderator: true, staff: true }),
      post(12, 3, 9, { admin: false, moderator: false, staff: false }),
    ];
    const rolesIn = async (files: Readonly<Record<string, string>>) => {
      const { found, report } = await imported(t, files);
      assert.deepEqual(report.problems, []);
      return [7n, 8n, 9n].map((id) => found('users', id)['role']);
    };
    const topics = written(topic(1, posts));
    assert.deepEqual(await rolesIn({ 'user-list.csv': list }), ['admin', 'moderator', 'user']);
    assert.deepEqual(await rolesIn({ '1.json': topics }), ['admin', 'moderator', undefined]);
    assert.deepEqual(await rolesIn({ '1.json': topics, 'user-list.csv': USERS }), [
      ...['admin', 'moderator', undefined],
    ]);
    const staff = [
      { id: 7, username: 'user7', trust_level: 2, admin: false, moderator: false },
      { id: 8, username: 'user8', trust_level: 2, admin: true, moderator: false },
      { id: 9, username: 'user9', trust_level: 2, moderator: false },
    ];
    for (const name of ['0.json', '2.json']) {
      const roles = await rolesIn({ '1.json': topics, [name]: written(staff) });
      assert.deepEqual(roles, ['user', 'admin', undefined], 'the list takes precedence');
    }
  });

  it('are refused if the id of a parent category is damaged, so that no title is lost', async (t) => {
    const categories = [
      { id: 5, name: 'Science', parent_category_id: 'none' },
      { id: 6, name: 'Physics' },
    ];
    for (const document of [{ categories }, topic(1, [post(10, 1, 7)], { categories })]) {
      const { report } = await imported(t, { 'document.json': written(document) });
      assert.deepEqual(
        report.problems.map(({ field, reason }) => `${field}: ${reason}`),
        ['parent_category_id: is not an integer'],
      );
    }
  });

  it('put a board into the category that its own is part of', async (t) => {
    const nested = {
      categories: [
        {
          ...{ id: 5, name: 'Science', parent_category_id: null },
          subcategory_list: [{ id: 6, name: 'Physics', subcategory_list: [{ id: 7, name: 'Optics' }] }],
        },
      ],
    };
    const flat = {
      categories: [
        { id: 7, name: 'Optics', parent_category_id: 6 },
        { id: 6, name: 'Physics', parent_category_id: 5 },
        { id: 5, name: 'Science' },
        { id: 8, name: 'Lost', parent_category_id: 99 },
      ],
    };
    for (const document of [nested, flat]) {
      const { found, report } = await imported(t, { 'categories.json': written(document) });
      assert.deepEqual(report.problems, []);
      assert.deepEqual(
        [5n, 6n, 7n].map((id) => found('boards', id)).map(({ title, category }) => [title, category]),
        [
          ['Science', undefined],
          ['Physics', 'Science'],
          ['Optics', 'Physics'],
        ],
      );
      assert.equal(found('boards', 8n)['category'], undefined);
    }
  });

  it('have an event for each accepted answer if a user action says by whom and when', async (t) => {
    const posts = [post(10, 1, 7), post(11, 2, 8, { accepted_answer: true }), post(12, 3, 9)];
    const files = { '1.json': written(topic(1, posts)), 'post.json': written(posts[1]) };
    const missing =
      'is an accepted answer, but in no file is who accepted it: request user actions, with filter=15';
    const without = await imported(t, files);
    assert.deepEqual(without.dropped, { [missing]: 2 });
    assert.equal(without.events.length, 4);
    const solved = { ...like(11, 7, 15), created_at: at(55) };
    const { events, dropped, found } = await imported(t, {
      ...files,
      'solved.json': written({ user_actions: [solved] }),
    });
    assert.deepEqual(dropped, {});
    assert.deepEqual(
      events
        .filter(({ action }) => action === 'accepted')
        .map(({ type, actorId, ownerId, boardId, pinId, timestampMs }) =>
          [type, actorId, ownerId, boardId, pinId, timestampMs].join(' '),
        ),
      [`pin 7 7 5 1 ${Date.parse(at(55))}`],
    );
    assert.equal(found('users', 7n)['name'], 'Name 7');
    const mapped = await imported(
      t,
      { ...files, 'solved.json': written({ user_actions: [solved] }) },
      {
        mapping: { solution: null },
      },
    );
    assert.deepEqual(mapped.dropped, { 'is mapped to null: solution': 1 });
  });

  it('may be single posts, as in /posts/ID.json, which describe their topic but no user', async (t) => {
    const told = { topic_title: 'Why is the sky blue?', category_id: 5 };
    const single = (id: number, number: number, user: number, more: object = {}) =>
      post(id, number, user, { ...told, topic_slug: 'why', trust_level: 2, yours: false, ...more });
    const { events, found, dropped, report } = await imported(t, {
      'post-7.json': written(single(7, 2, 8, { name: 'Bob' })),
      'post-8.json': written({ ...single(8, 3, 9), category_id: undefined }),
      'post-9.json': written(single(9, 1, 7, { raw: 'Why?' })),
      'post-10.json': written(post(10, 2, 7, { topic_id: 2 })),
      'latest.json': written({ latest_posts: [single(11, 4, 7), single(12, 5, 7, { category_id: 6 })] }),
      'user-list.csv': USERS,
    });
    assert.deepEqual(
      events.map(({ action, actorId, ownerId, boardId, pinId }) =>
        [action, actorId, ownerId, boardId, pinId].join(' '),
      ),
      ['commented 7 7 5 1', 'commented 7 7 5 1', 'commented 8 7 5 1', 'commented 9 7 5 1', 'created 7 7 5 1'],
    );
    const { title, body } = found('pins', 1n);
    assert.deepEqual([title, body], ['Why is the sky blue?', 'Why?']);
    assert.equal(found('users', 7n)['name'], 'Ada Lovelace');
    assert.equal(found('users', 8n)['name'], 'Bob');
    assert.equal(found('users', 11n)['name'], undefined, 'the id of a post is that of no user');
    assert.deepEqual(dropped, { 'is about a topic that is in none of the files: reply': 1 });
    assert.deepEqual(report.translated?.described, { users: 2 });
  });

  it('keep the fields of a topic or a category that only one of them gives', async (t) => {
    const told = topic(1, [post(10, 1, 7)], { details: { created_by: { id: 7, name: 'Ada' } } });
    const bare = { id: 1, title: 'Topic 1', post_stream: { posts: [post(11, 2, 8)] } };
    const unnamed = { categories: [{ id: 5 }] };
    for (const documents of [
      [told, CATEGORIES, bare, unnamed],
      [unnamed, bare, CATEGORIES, told],
    ]) {
      const { events, found } = await imported(t, { 'all.json': written(documents) });
      assert.deepEqual(
        events.map(({ ownerId, boardId, pinId }) => [ownerId, boardId, pinId]),
        [
          [7n, 5n, 1n],
          [7n, 5n, 1n],
        ],
      );
      assert.deepEqual(found('pins', 1n)['tags'], ['sky', 'blue']);
      assert.equal(found('boards', 5n)['title'], 'Physics');
    }
  });

  it('count as users only if they certainly are, even if they have an id and a user name', async (t) => {
    const { report } = await imported(t, {
      'a.ndjson': [
        { id: 7, username: 'ada', avatar_template: '/a.png' },
        { id: 8, username: 'bob', trust_level: 1, user_id: 9 },
        { id: 9, username: 'eve', email: 'eve@x.example', post_id: 5 },
        { id: 10, username: 'dan', trust_level: 0 },
      ]
        .map((one) => JSON.stringify(one))
        .join('\n'),
      'b.csv': 'id,username,topic_id\n7,ada,1\n',
    });
    assert.deepEqual(
      report.problems.map(({ line, reason }) => `${line} ${/user actions or a user/.exec(reason)?.[0]}`),
      [1, 2, 3, 2].map((line) => `${line} user actions or a user`),
    );
    assert.deepEqual(report.translated?.described, { users: 1 });
  });

  it('are counted at every size: action, board and user agree with a count of the documents', async (t) => {
    const documents = Array.from({ length: 60 }, (_, place) => {
      const posts = Array.from({ length: 1 + (place % 30) }, (_, number) =>
        post(1000 * place + number, number + 1, 1 + ((place * 7 + number * 3) % 11)),
      );
      return topic(place + 1, posts, { category_id: 5 + (place % 4) });
    });
    const { events } = await imported(t, { 'all.json': JSON.stringify(documents) });
    const posts = documents.flatMap(({ post_stream, category_id }) =>
      post_stream.posts.map(
        (one) => ({ ...one, category_id }) as ReturnType<typeof post> & { category_id: number },
      ),
    );
    assert.deepEqual(tally(events.map(({ action }) => action)), {
      commented: posts.length - 60,
      created: 60,
    });
    assert.deepEqual(
      tally(events.map(({ boardId }) => `${boardId}`)),
      tally(posts.map((one) => `${one.category_id}`)),
    );
    assert.deepEqual(
      tally(events.map(({ actorId }) => `${actorId}`)),
      tally(posts.map((one) => `${one.user_id}`)),
    );
  });

  it('can be mapped to other actions', async (t) => {
    const mapping = { reply: 'pin.answered', like: null };
    const { events, dropped } = await imported(t, FILES, { mapping });
    assert.deepEqual(tally(events.map(({ action }) => action)), { answered: 2, created: 1 });
    assert.deepEqual(dropped, { 'is mapped to null: like': 4 });
  });

  it('of several kinds may share a file, and are recognized under any file name', async (t) => {
    const folder = await makeFolder(t, {
      all: written([CATEGORIES, topic(1, [post(10, 1, 7)])]),
      people: USERS,
    });
    const paths = [join(folder, 'all'), join(folder, 'people')];
    const { report } = await importRecorded({ paths, foreign: { format: discourse, options: {} } });
    assert.deepEqual(report.translated, {
      events: { 'pin.created': 1 },
      dropped: [],
      described: { boards: 2, users: 2 },
    });
  });
});
