/**
 * Responses of Discourse, each a JSON document: topics with their posts, single posts, categories,
 * users, and the likes and accepted answers in user actions; and the list of users, which
 * administrators export as CSV. Documents refer to each other.
 */
import { Refusal } from '../fields/refusal.ts';
import {
  actionsOf,
  categoriesOf,
  isDeleted,
  isFirst,
  isPost,
  isTopic,
  isUser,
  listedRoleOf,
  PARENT,
  postsOf,
  singlePostsOf,
  staffRoleOf,
  typeOf,
} from './discourse-documents.ts';
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
  solution: 'pin.accepted',
};

/** Kinds of posts that are dropped, by `post_type`. */
const POST_TYPES: Readonly<Record<string, string>> = {
  2: 'a note of a moderator',
  3: 'a note of the system',
  4: 'a whisper',
};
const LIKE_GIVEN = 1;
const LIKE_RECEIVED = 2;
/** Of the plugin for accepted answers. */
const SOLVED = 15;
/** Deeds by `action_type` of user actions. A like given and a like received are the same like. */
const ACTIONS: ReadonlyMap<unknown, string> = new Map([
  [LIKE_GIVEN, 'like'],
  [LIKE_RECEIVED, 'like'],
  [SOLVED, 'solution'],
]);

export const discourse: Format = {
  name: 'discourse',
  forms: ['json', 'csv'],
  columns: ['id', 'username'],
  isWhole: true,
  open: (options, derivation) => new Documents(options, derivation),
};

/** A category as described by the documents, with the category that it is part of. */
interface Category {
  readonly name: string;
  readonly parentId: bigint | undefined;
}

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
  readonly #categories = new Map<bigint, Category>();
  /** Posts contained in any document. */
  readonly #posts = new Set<bigint>();
  /** Posts that a user action accepts as an answer. */
  readonly #solutions = new Set<bigint>();
  /** Roles in lists of users, which take precedence over those in posts. */
  readonly #roles = new Map<bigint, string>();

  constructor({ mapping = {} }: FormatOptions, derivation: Derivation) {
    this.#meanings = { ...DEEDS, ...mapping };
    this.#derivation = derivation;
  }

  survey(record: FormatSource): void {
    for (const category of categoriesOf(record) ?? []) this.#surveyCategory(category);
    if (isTopic(record)) {
      // A document with further posts of a topic has no title.
      if (typeof record['title'] === 'string') learn(this.#topics, idOf(record, 'id'), topicOf(record));
      for (const post of postsOf(record)) this.#posts.add(idOf(post, 'id'));
    }
    for (const post of singlePostsOf(record)) this.#surveySinglePost(post);
    for (const action of actionsOf(record)) {
      if (action['action_type'] === SOLVED) this.#solutions.add(idOf(action, 'post_id'));
    }
    const role = isUser(record) ? listedRoleOf(record) : undefined;
    if (role !== undefined) this.#roles.set(idOf(record, 'id'), role);
  }

  #surveyCategory(category: FormatSource): void {
    const { id, parentId } = categoryIdsOf(category);
    const known = this.#categories.get(id);
    this.#categories.set(id, {
      name: wordOf(category['name']) || (known?.name ?? ''),
      parentId: parentId ?? known?.parentId,
    });
  }

  #surveySinglePost(post: FormatSource): void {
    this.#posts.add(idOf(post, 'id'));
    const id = idOf(post, 'topic_id');
    const topic = topicOfPost(post, id);
    // If a post does not describe its topic, a document must.
    if (topic.title.isGiven || topic.categoryId !== undefined) learn(this.#topicsOfPosts, id, topic);
  }

  translate(record: FormatSource): readonly Translation[] {
    const categories = categoriesOf(record);
    // The survey has read these of every document, also of topics.
    for (const one of categories ?? []) categoryIdsOf(one);
    if (isTopic(record)) return this.#translateTopic(record);
    if (isPost(record)) return this.#translateSinglePost(record, '');
    if ('latest_posts' in record) {
      return singlePostsOf(record).flatMap((post, place) =>
        this.#translateSinglePost(post, `latest_posts[${place + 1}].`),
      );
    }
    if ('user_actions' in record) {
      return actionsOf(record).map((action, place) =>
        this.#translateAction(action, `user_actions[${place + 1}].`),
      );
    }
    // Newer versions of Discourse add categories to other documents, so these are checked first.
    if (categories !== undefined) {
      return categories.map((one) => ({ describes: 'boards', board: this.#boardOf(idOf(one, 'id')) }));
    }
    if (isUser(record)) {
      const person = listedPerson(record);
      return [{ describes: 'users', person: { ...person, role: this.#roles.get(person.id) } }];
    }
    throw new Refusal(
      '',
      'is not a topic, a post, categories, user actions or a user; a user has an id, a username, ' +
        'and a trust_level or an email',
    );
  }

  #translateTopic(record: FormatSource): readonly Translation[] {
    const id = idOf(record, 'id');
    const posts = postsOf(record);
    const translated = posts.flatMap((post, place) =>
      this.#translatePost(id, post, `post_stream.posts[${place + 1}].`),
    );
    const { stream } = memberOf(record, 'post_stream');
    const listed: readonly unknown[] = Array.isArray(stream) ? stream : [];
    const isMissing = (post: unknown) => Number.isSafeInteger(post) && !this.#posts.has(BigInt(Number(post)));
    const dropped = 'is listed in its topic, but is in no file: request all posts, with ?print=true';
    return [...translated, ...listed.filter(isMissing).map(() => ({ dropped }))];
  }

  #translateSinglePost(post: FormatSource, before: string): readonly Translation[] {
    return this.#translatePost(idOf(post, 'topic_id', `${before}topic_id`), post, before);
  }

  /** A post says that it is the accepted answer, but neither by whom nor since when. */
  #translatePost(topicId: bigint, post: FormatSource, before: string): readonly Translation[] {
    const written = this.#translateWriting(topicId, post, before);
    const isMissing = post['accepted_answer'] === true && !this.#solutions.has(idOf(post, 'id'));
    if (!isMissing || 'dropped' in written) return [written];
    const dropped =
      'is an accepted answer, but in no file is who accepted it: request user actions, with filter=15';
    return [written, { dropped }];
  }

  #translateWriting(topicId: bigint, post: FormatSource, before: string): Translation {
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
    const role = this.#roles.get(userId) ?? staffRoleOf(post);
    const actor = { ...personOf(userId, post['name'], post['username']), role };
    const text = wordOf(post['raw']) || wordOf(post['cooked']) || undefined;
    const isTopic = number === 1n;
    return this.#eventOf(deed, {
      ...{ id: eventId, topicId, actor, timestamp },
      ...(isTopic ? { pinBody: text } : { body: text }),
    });
  }

  #translateAction(action: FormatSource, before: string): Translation {
    const timestamp = textOf(action, 'created_at', `${before}created_at`);
    const { action_type: type } = action;
    const deed = ACTIONS.get(type);
    if (deed === undefined) {
      return {
        dropped: `is neither a like nor an accepted answer, but a user action of type ${typeOf(type)}`,
      };
    }
    const topicId = idOf(action, 'topic_id', `${before}topic_id`);
    const post = idOf(action, 'post_id', `${before}post_id`);
    const who = idOf(action, 'acting_user_id', `${before}acting_user_id`);
    const actor = personOf(who, action['acting_name'], action['acting_username']);
    const id = this.#derivation.eventNumberOf(`discourse ${deed} ${post} ${who}`);
    return this.#eventOf(deed, { id, topicId, actor, timestamp });
  }

  #eventOf(deed: string, { topicId, pinBody, ...event }: Deed): Translation {
    const meaning = meaningOf(lookUp(this.#meanings, deed), 'pin');
    if (meaning === undefined) return { dropped: `is mapped to null: ${deed}` };
    const topic = merged(this.#topicsOfPosts.get(topicId), this.#topics.get(topicId));
    if (topic === undefined) return { dropped: `is about a topic that is in none of the files: ${deed}` };
    if (topic.isPrivate) return { dropped: 'is part of a private message' };
    const { categoryId, tags, title, owner } = topic;
    if (categoryId === undefined) return { dropped: 'belongs to a topic without a category' };
    const about = { ...event, ...meaning, owner, board: this.#boardOf(categoryId) };
    if (meaning.type !== 'pin') return about;
    return { ...about, pin: { id: topicId, title, body: pinBody, tags } };
  }

  #boardOf(id: bigint): ForeignBoard {
    const { name, parentId } = this.#categories.get(id) ?? {};
    const parent = parentId === undefined ? undefined : this.#categories.get(parentId);
    return { id, title: detailOf(name, `Category ${id}`), category: parent?.name || undefined };
  }
}

interface Deed {
  readonly id: bigint;
  readonly topicId: bigint;
  readonly actor: NamedPerson;
  readonly timestamp: string;
  /** The text of a reply. */
  readonly body?: string | undefined;
  /** The text of a topic. */
  readonly pinBody?: string | undefined;
}

/** Throws `Refusal`. */
function categoryIdsOf(category: FormatSource) {
  return { id: idOf(category, 'id'), parentId: idIfAny(category, PARENT) };
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
