/**
 * Responses of Discourse, each a JSON document: topics with their posts, single posts, categories,
 * users, and the likes of users; and the list of users, which administrators export as CSV.
 * Documents refer to each other. The type of a document is recognized by its members (decision 69).
 */
import { Refusal } from '../fields/refusal.ts';
import {
  type Derivation,
  type Detail,
  derived,
  detailOf,
  type ForeignBoard,
  type Format,
  type FormatOptions,
  type FormatSource,
  given,
  idIfAny,
  idOf,
  invalidEmail,
  isObject,
  lookUp,
  meaningOf,
  memberOf,
  type NamedPerson,
  type Translation,
  type Translator,
  textOf,
  wordOf,
} from './format.ts';

/** Event type and action, by what was done. Anything else is work of moderators or the system. */
export const DEEDS: Readonly<Record<string, string>> = {
  topic: 'pin.created',
  reply: 'pin.commented',
  like: 'pin.liked',
};

/** Kinds of posts that are dropped, by `post_type`. */
const POST_TYPES: Readonly<Record<string, string>> = {
  2: 'a note of a moderator',
  3: 'a note of the system',
  4: 'a whisper',
};
/**
 * Values of `action_type` in user actions: likes given, and likes received, which are the same
 * likes.
 */
const LIKES: ReadonlySet<unknown> = new Set([1, 2]);

export const discourse: Format = {
  name: 'discourse',
  forms: ['json', 'csv'],
  columns: ['id', 'username'],
  isWhole: true,
  open: (options, derivation) => new Documents(options, derivation),
};

/** Members that all posts have, and no other document. */
const OF_POSTS = ['id', 'username', 'topic_id', 'post_number'];
/** Members that only accounts have: a mention of a user has no more than an id and a user name. */
const OF_ACCOUNTS = ['trust_level', 'email'];
/** Members of posts and of actions on them that no user has. */
const OF_NO_USER = ['topic_id', 'post_id', 'post_number', 'user_id'];

/** A topic as described by the documents. A detail that none of them contains is undefined. */
interface Topic {
  readonly title: Detail;
  readonly categoryId: bigint | undefined;
  readonly isPrivate: boolean | undefined;
  readonly tags: readonly string[] | undefined;
  readonly owner: NamedPerson | undefined;
}

class Documents implements Translator {
  readonly #meanings: Readonly<Record<string, string | null>>;
  readonly #derivation: Derivation;
  readonly #topics = new Map<bigint, Topic>();
  /** Topics as described by single posts; used if no document contains the topic. */
  readonly #topicsOfPosts = new Map<bigint, Topic>();
  readonly #categories = new Map<bigint, string>();
  /** Posts contained in any document. */
  readonly #posts = new Set<bigint>();

  constructor({ mapping = {} }: FormatOptions, derivation: Derivation) {
    this.#meanings = { ...DEEDS, ...mapping };
    this.#derivation = derivation;
  }

  survey(record: FormatSource): void {
    for (const category of categoriesOf(record) ?? []) {
      const id = idOf(category, 'id');
      const name = wordOf(category['name']);
      if (name !== '') this.#categories.set(id, name);
    }
    if (isTopic(record)) {
      // A document with further posts of a topic has no title.
      if (typeof record['title'] === 'string') learn(this.#topics, idOf(record, 'id'), topicOf(record));
      for (const post of postsOf(record)) this.#posts.add(idOf(post, 'id'));
    }
    for (const post of singlePostsOf(record)) this.#surveySinglePost(post);
  }

  #surveySinglePost(post: FormatSource): void {
    this.#posts.add(idOf(post, 'id'));
    const id = idOf(post, 'topic_id');
    const topic = topicOfPost(post, id);
    // If a post does not describe its topic, a document must.
    if (topic.title.isGiven || topic.categoryId !== undefined) learn(this.#topicsOfPosts, id, topic);
  }

  translate(record: FormatSource): readonly Translation[] {
    if (isTopic(record)) return this.#translateTopic(record);
    if (isPost(record)) return [this.#translateSinglePost(record, '')];
    const { user_actions: actions, latest_posts: posts } = record;
    if (posts !== undefined) {
      return objectsOf(posts, 'latest_posts').map((post, place) =>
        this.#translateSinglePost(post, `latest_posts.${place}.`),
      );
    }
    if (actions !== undefined) {
      return objectsOf(actions, 'user_actions').map((action, place) =>
        this.#translateAction(action, `user_actions.${place}.`),
      );
    }
    // Newer versions of Discourse add categories to other documents, so these are checked first.
    const categories = categoriesOf(record);
    if (categories !== undefined) {
      return categories.map((one) => ({ describes: 'boards', board: this.#boardOf(idOf(one, 'id')) }));
    }
    if (isUser(record)) return [{ describes: 'users', person: listedPerson(record) }];
    throw new Refusal(
      '',
      'is not a topic, a post, categories, user actions or a user; a user has an id, a username, ' +
        'and a trust_level or an email',
    );
  }

  #translateTopic(record: FormatSource): readonly Translation[] {
    const id = idOf(record, 'id');
    const posts = postsOf(record);
    const translated = posts.map((post, place) =>
      this.#translatePost(id, post, `post_stream.posts.${place}.`),
    );
    const { stream } = memberOf(record, 'post_stream');
    const listed: readonly unknown[] = Array.isArray(stream) ? stream : [];
    const isMissing = (post: unknown) => Number.isSafeInteger(post) && !this.#posts.has(BigInt(Number(post)));
    const dropped = 'is listed in its topic, but is in no file: request all posts, with ?print=true';
    return [...translated, ...listed.filter(isMissing).map(() => ({ dropped }))];
  }

  #translateSinglePost(post: FormatSource, before: string): Translation {
    return this.#translatePost(idOf(post, 'topic_id', `${before}topic_id`), post, before);
  }

  #translatePost(topicId: bigint, post: FormatSource, before: string): Translation {
    const id = idOf(post, 'id', `${before}id`);
    const number = idOf(post, 'post_number', `${before}post_number`);
    const timestamp = textOf(post, 'created_at', `${before}created_at`);
    const userId = idIfAny(post, 'user_id', `${before}user_id`);
    const type = typeOf(post['post_type'] ?? 1);
    if (type !== '1')
      return { dropped: `is not a post, but ${lookUp(POST_TYPES, type) ?? `of type ${type}`}` };
    if (isDeleted(post)) return { dropped: 'was deleted' };
    const deed = number === 1n ? 'topic' : 'reply';
    if (userId === undefined) return { dropped: `names no user: ${deed}` };
    const eventId = this.#derivation.eventNumberOf(`discourse post ${id}`);
    const actor = personOf(userId, post['name'], post['username']);
    const body = wordOf(post['raw']) || wordOf(post['cooked']) || undefined;
    return this.#eventOf(deed, {
      ...{ id: eventId, topicId, actor, timestamp },
      body: number === 1n ? body : undefined,
    });
  }

  #translateAction(action: FormatSource, before: string): Translation {
    const timestamp = textOf(action, 'created_at', `${before}created_at`);
    const { action_type: type } = action;
    if (!LIKES.has(type)) return { dropped: `is not a like, but a user action of type ${typeOf(type)}` };
    const topicId = idOf(action, 'topic_id', `${before}topic_id`);
    const post = idOf(action, 'post_id', `${before}post_id`);
    const who = idOf(action, 'acting_user_id', `${before}acting_user_id`);
    const actor = personOf(who, action['acting_name'], action['acting_username']);
    const id = this.#derivation.eventNumberOf(`discourse like ${post} ${who}`);
    return this.#eventOf('like', { id, topicId, actor, timestamp, body: undefined });
  }

  #eventOf(deed: string, { topicId, body, ...event }: Deed): Translation {
    const meaning = meaningOf(lookUp(this.#meanings, deed));
    if (meaning === undefined) return { dropped: `is mapped to null: ${deed}` };
    const topic = merged(this.#topicsOfPosts.get(topicId), this.#topics.get(topicId));
    if (topic === undefined) return { dropped: `is about a topic that is in none of the files: ${deed}` };
    if (topic.isPrivate) return { dropped: 'is part of a private message' };
    const { categoryId, tags, title, owner } = topic;
    if (categoryId === undefined) return { dropped: 'belongs to a topic without a category' };
    const about = { ...event, ...meaning, owner, board: this.#boardOf(categoryId) };
    if (meaning.type !== 'pin') return about;
    return { ...about, pin: { id: topicId, title, body, tags } };
  }

  #boardOf(id: bigint): ForeignBoard {
    return { id, title: detailOf(this.#categories.get(id), `Category ${id}`) };
  }
}

interface Deed {
  readonly id: bigint;
  readonly topicId: bigint;
  readonly actor: NamedPerson;
  readonly timestamp: string;
  readonly body: string | undefined;
}

/** A number or a text; empty for an object, because not every object can be converted to text. */
function typeOf(value: unknown): string {
  return typeof value === 'object' ? '' : String(value);
}

function isTopic(record: FormatSource): boolean {
  return 'post_stream' in record;
}

function isPost(record: FormatSource): boolean {
  return OF_POSTS.every((member) => member in record);
}

/** The posts of a document other than a topic. */
function singlePostsOf(record: FormatSource): readonly FormatSource[] {
  if (isPost(record)) return [record];
  return 'latest_posts' in record ? objectsOf(record['latest_posts'], 'latest_posts') : [];
}

function isUser(record: FormatSource): boolean {
  return (
    ['id', 'username'].every((member) => member in record) &&
    OF_ACCOUNTS.some((member) => member in record) &&
    !OF_NO_USER.some((member) => member in record)
  );
}

function postsOf(topic: FormatSource): readonly FormatSource[] {
  return objectsOf(memberOf(topic, 'post_stream')['posts'], 'post_stream.posts');
}

/** From `/categories.json` or `/site.json`, with subcategories. Undefined for other documents. */
function categoriesOf(record: FormatSource): readonly FormatSource[] | undefined {
  const listed = isObject(record['category_list']) ? record['category_list'] : record;
  if (!('categories' in listed)) return undefined;
  return objectsOf(listed['categories'], 'categories').flatMap((category) => {
    const { subcategory_list: below } = category;
    return Array.isArray(below) ? [category, ...objectsOf(below, 'subcategory_list')] : [category];
  });
}

/** Throws `Refusal`. */
function objectsOf(list: unknown, name: string): readonly FormatSource[] {
  if (Array.isArray(list) && list.every(isObject)) return list;
  throw new Refusal(name, 'must be a list of objects');
}

/** Deleted by a moderator, or by its author, in which case it remains in place for a day. */
function isDeleted(post: FormatSource): boolean {
  return wordOf(post['deleted_at']) !== '' || post['user_deleted'] === true;
}

function isFirst(post: FormatSource): boolean {
  return post['post_number'] === 1;
}

function topicOf(record: FormatSource): Topic {
  const { details, tags } = record;
  const creator = isObject(details) ? details['created_by'] : undefined;
  const first = postsOf(record).find(isFirst);
  return {
    title: given(textOf(record, 'title')),
    categoryId: idIfAny(record, 'category_id'),
    isPrivate: 'archetype' in record ? record['archetype'] === 'private_message' : undefined,
    tags: Array.isArray(tags) ? tags.map(tagOf).filter((tag) => tag !== '') : undefined,
    owner: isObject(creator) ? ownerOf(creator, 'id') : first && ownerOf(first, 'user_id'),
  };
}

/** The description of a topic in a single post; a private message has no category. */
function topicOfPost(post: FormatSource, id: bigint): Topic {
  return {
    title: detailOf(post['topic_title'], `Topic ${id}`),
    categoryId: idIfAny(post, 'category_id'),
    isPrivate: undefined,
    tags: undefined,
    owner: isFirst(post) ? ownerOf(post, 'user_id') : undefined,
  };
}

function learn(topics: Map<bigint, Topic>, id: bigint, said: Topic): void {
  topics.set(id, merged(topics.get(id), said) ?? said);
}

/** Later descriptions win, but a missing value replaces nothing. */
function merged(known: Topic | undefined, said: Topic | undefined): Topic | undefined {
  if (known === undefined || said === undefined) return said ?? known;
  return {
    title: said.title.isGiven ? said.title : known.title,
    categoryId: said.categoryId ?? known.categoryId,
    isPrivate: said.isPrivate ?? known.isPrivate,
    tags: said.tags ?? known.tags,
    owner: said.owner?.name.isGiven ? said.owner : (known.owner ?? said.owner),
  };
}

/** A text; in newer versions of Discourse an object with a name. */
function tagOf(tag: unknown): string {
  return isObject(tag) ? wordOf(tag['name']) : wordOf(tag);
}

function ownerOf(person: FormatSource, member: string): NamedPerson | undefined {
  const id = idIfAny(person, member);
  return id === undefined ? undefined : personOf(id, person['name'], person['username']);
}

/** Without a name, the user name is used, as on the pages of Discourse. */
function personOf(id: bigint, name: unknown, username: unknown): NamedPerson {
  return { id, email: invalidEmail(`${id}`, 'discourse'), name: nameOf(id, name, username) };
}

function nameOf(id: bigint, name: unknown, username: unknown): Detail {
  const written = wordOf(name) || wordOf(username);
  return written === '' ? derived(`User ${id}`) : given(written);
}

function listedPerson(record: FormatSource): NamedPerson {
  const person = personOf(idOf(record, 'id'), record['name'], record['username']);
  const email = wordOf(record['email']);
  // Ruby writes `2017-10-18 13:05:11 UTC` in the CSV file.
  const created = wordOf(record['created_at']).replace(/^(\S+) (\S+) UTC$/, '$1T$2Z');
  return {
    ...person,
    email: email === '' ? person.email : given(email),
    createdAt: created === '' ? undefined : created,
  };
}
