/**
 * Documents of Discourse: their kinds, recognized by their members (decision 69), and the posts,
 * categories and user actions in them.
 */
import { Refusal } from '../fields/refusal.ts';
import { type FormatSource, isObject, memberOf, wordOf } from './format.ts';

/** Members that all posts have, and no other document. */
const OF_POSTS = ['id', 'username', 'topic_id', 'post_number'];
/** The member of a category that names the one that it is part of. */
export const PARENT = 'parent_category_id';
/** Members that only accounts have: a mention of a user has no more than an id and a user name. */
const OF_ACCOUNTS = ['trust_level', 'email'];
/** Members of posts and of actions on them that no user has. */
const OF_NO_USER = ['topic_id', 'post_id', 'post_number', 'user_id'];

/** A number or a text; empty for an object, because not every object can be converted to text. */
export function typeOf(value: unknown): string {
  return typeof value === 'object' ? '' : String(value);
}

export function isTopic(record: FormatSource): boolean {
  return 'post_stream' in record;
}

export function isPost(record: FormatSource): boolean {
  return OF_POSTS.every((member) => member in record);
}

/** The posts of a document other than a topic. */
export function singlePostsOf(record: FormatSource): readonly FormatSource[] {
  if (isPost(record)) return [record];
  return 'latest_posts' in record ? objectsOf(record['latest_posts'], 'latest_posts') : [];
}

export function isUser(record: FormatSource): boolean {
  return (
    ['id', 'username'].every((member) => member in record) &&
    OF_ACCOUNTS.some((member) => member in record) &&
    !OF_NO_USER.some((member) => member in record)
  );
}

export function postsOf(topic: FormatSource): readonly FormatSource[] {
  return objectsOf(memberOf(topic, 'post_stream')['posts'], 'post_stream.posts');
}

export function actionsOf(record: FormatSource): readonly FormatSource[] {
  return 'user_actions' in record ? objectsOf(record['user_actions'], 'user_actions') : [];
}

/** From `/categories.json` or `/site.json`, with subcategories. Undefined for other documents. */
export function categoriesOf(record: FormatSource): readonly FormatSource[] | undefined {
  const listed = isObject(record['category_list']) ? record['category_list'] : record;
  if (!('categories' in listed)) return undefined;
  return objectsOf(listed['categories'], 'categories').flatMap(withSubcategories);
}

/** The category, and those inside it, at any depth, each with the id of the one around it. */
function withSubcategories(category: FormatSource): readonly FormatSource[] {
  const { id, subcategory_list: inside } = category;
  if (!Array.isArray(inside)) return [category];
  const subcategories = objectsOf(inside, 'subcategory_list').map((one) => ({ [PARENT]: id, ...one }));
  return [category, ...subcategories.flatMap(withSubcategories)];
}

/** Throws `Refusal`. */
function objectsOf(list: unknown, name: string): readonly FormatSource[] {
  if (Array.isArray(list) && list.every(isObject)) return list;
  throw new Refusal(name, 'must be a list of objects');
}

/** Deleted by a moderator, or by its author, in which case it remains in place for a day. */
export function isDeleted(post: FormatSource): boolean {
  return wordOf(post['deleted_at']) !== '' || post['user_deleted'] === true;
}

export function isFirst(post: FormatSource): boolean {
  return post['post_number'] === 1;
}

/** The role of staff; undefined for a record that gives none. */
export function staffRoleOf({ admin, moderator }: FormatSource): string | undefined {
  return isYes(admin) ? 'admin' : isYes(moderator) ? 'moderator' : undefined;
}

/** A list of users says of everyone whether they are staff. */
export function listedRoleOf(record: FormatSource): string | undefined {
  const { admin, moderator } = record;
  return staffRoleOf(record) ?? (isNo(admin) && isNo(moderator) ? 'user' : undefined);
}

/** In CSV, booleans are texts. */
function isYes(value: unknown): boolean {
  return value === true || value === 'true';
}

function isNo(value: unknown): boolean {
  return value === false || value === 'false';
}
