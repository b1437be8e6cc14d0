/** Documents of a Discourse site: topics, single posts, categories, likes and users. */
import fc from 'fast-check';
import { discourse } from '../../../../src/ingest/formats/discourse.ts';
import type { FormatSource } from '../../../../src/ingest/formats/format.ts';
import {
  courseOf,
  type Documents,
  damaged,
  has,
  linesOf,
  momentOf,
  numbered,
  ownerOf,
  page,
  partial,
  person,
} from './documents.ts';

const categoryOf = (topic: number) => 4 + courseOf(topic);
/** A user has the same name everywhere; one in four has only the user name. */
const nameOf = (who: number) => (who === 4 ? '' : `Given person ${who}`);
const namesOf = (who: number) => ({ name: nameOf(who), username: `user${who}` });
/** The first user is an administrator, the second a moderator. */
const staffOf = (who: number) => ({ admin: who === 1, moderator: who === 2 });
const unnamed = { name: '', username: '' };

/** The post with this number in a topic: always the same post, more or less complete. */
const post = (topic: number, number: number): fc.Arbitrary<FormatSource> => {
  const id = 100 * topic + number;
  const who = number === 1 ? ownerOf(topic) : 1 + (id % 4);
  const text = `Text ${id}`;
  return fc
    .tuple(fc.constantFrom(namesOf(who), unnamed), partial({ raw: text, cooked: text, reads: 5 }))
    .map(([names, more]) => ({
      ...{ id, post_number: number, topic_id: topic, user_id: who, created_at: momentOf(id) },
      ...{ ...names, ...more, ...staffOf(who) },
      ...(id % 7 === 0 && { post_type: 3 }),
      ...(id % 5 === 0 && { user_deleted: true }),
    }));
};
const postNumber = fc.integer({ min: 1, max: 6 });
const toldPost = fc
  .tuple(page, postNumber)
  .chain(([topic, number]) =>
    fc
      .tuple(
        post(topic, number),
        partial({ topic_title: `Given page ${topic}`, category_id: categoryOf(topic) }),
      )
      .map(([one, more]) => ({ ...one, ...more })),
  );

const topic = page.chain((id) =>
  fc
    .uniqueArray(postNumber, { minLength: 1, maxLength: 4 })
    .chain((numbers) => fc.tuple(...numbers.map((number) => post(id, number))))
    .chain((posts) =>
      fc
        .tuple(
          partial({ stream: posts.map((one) => one['id']) }),
          partial({
            ...{ title: `Given page ${id}`, category_id: categoryOf(id), archetype: 'regular' },
            ...{ tags: ['sky', { id: 1, name: 'blue' }] },
            details: { created_by: { id: ownerOf(id), ...namesOf(ownerOf(id)) } },
          }),
        )
        .map(([stream, more]) => ({ id, post_stream: { posts, ...stream }, ...more })),
    ),
);

const categories = partial({ name: 'Given course 5' }).map((more) => ({
  category_list: { categories: [{ id: 5, ...more, subcategory_list: [{ id: 6, name: 'Given course 6' }] }] },
}));

const like = fc.tuple(page, postNumber, person).chain(([about, number, who]) =>
  fc.constantFrom(1, 2, 5, 15).map((type) => ({
    ...{ action_type: type, created_at: momentOf(about), post_id: 100 * about + number, topic_id: about },
    ...{ acting_user_id: who, acting_name: nameOf(who), acting_username: `user${who}` },
  })),
);

const user = person.chain((who) =>
  partial({
    ...{ email: `person${who}@x.example`, created_at: '2020-10-18T13:05:11Z' },
    ...staffOf(who),
  }).map((more) => ({
    ...{ id: who, ...namesOf(who), trust_level: 1 },
    ...more,
  })),
);
/** A record that has an id and a user name, but is certainly not a user. */
const other = person.map((id) => ({ id: 100 + id, username: `user${id}`, avatar_template: '/a.png' }));

const OF_POSTS = ['topic_id', 'created_at'];

const document: fc.Arbitrary<FormatSource> = fc.oneof(
  { arbitrary: damaged(topic, ['id']), weight: 5 },
  { arbitrary: damaged(toldPost, OF_POSTS), weight: 4 },
  { arbitrary: fc.array(toldPost, { maxLength: 3 }).map((posts) => ({ latest_posts: posts })), weight: 1 },
  { arbitrary: categories, weight: 1 },
  { arbitrary: fc.array(like, { maxLength: 3 }).map((actions) => ({ user_actions: actions })), weight: 2 },
  { arbitrary: user, weight: 2 },
  { arbitrary: other, weight: 1 },
);

const LISTS = ['latest_posts', 'user_actions'];

export const site: Documents = {
  format: discourse,
  options: {},
  records: numbered(() => document),
  isValid(record) {
    if ('avatar_template' in record) return false;
    if ('post_stream' in record) return 'id' in record;
    return !('post_number' in record) || has(record, OF_POSTS);
  },
  write: linesOf,
  countOf: (record) => {
    const { post_stream: stream, category_list: listed } = record;
    if (listed !== undefined) return 2;
    const list = LISTS.map((name) => record[name]).find((one) => one !== undefined);
    const posts = stream === undefined ? list : Reflect.get(Object(stream), 'posts');
    return Array.isArray(posts) ? posts.length : 1;
  },
  reordered: (record) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name,
        LISTS.includes(name) && Array.isArray(value) ? value.toReversed() : value,
      ]),
    ),
};
