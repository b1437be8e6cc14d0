/**
 * The public data dump of a Stack Exchange site: XML files of rows. Posts, Users, Comments and
 * Votes are read. Rows refer to rows of other files, so all are surveyed before the first is
 * translated.
 */
import { AppError } from '../../domain/app-error.ts';
import { isStorable, storable } from '../../domain/record-text.ts';
import { Refusal } from '../fields/refusal.ts';
import {
  type Derivation,
  derived,
  detailOf,
  type ForeignEvent,
  type Format,
  type FormatOptions,
  type FormatSource,
  idIfAny,
  idOf,
  invalidEmail,
  isObject,
  lookUp,
  meaningOf,
  type NamedPerson,
  type Translation,
  type Translator,
  textOf,
  wordOf,
} from './format.ts';

/**
 * Event type and action by the sort of a row: the sort of a post, `comment`, or the name of a vote
 * type. Other rows represent no event.
 */
export const INTERACTIONS: Readonly<Record<string, string>> = {
  question: 'pin.created',
  answer: 'pin.commented',
  comment: 'pin.commented',
  AcceptedByOriginator: 'pin.accepted',
  UpMod: 'pin.liked',
  Favorite: 'pin.bookmarked',
};

/** Sorts of posts by `PostTypeId`. */
const POSTS: Readonly<Record<string, string>> = {
  1: 'question',
  2: 'answer',
  3: 'orphaned tag wiki',
  4: 'tag wiki excerpt',
  5: 'tag wiki',
  6: 'moderator nomination',
  7: 'wiki placeholder',
  8: 'privilege wiki',
};

/** Names of vote types by `VoteTypeId`. */
const VOTES: Readonly<Record<string, string>> = {
  1: 'AcceptedByOriginator',
  2: 'UpMod',
  3: 'DownMod',
  4: 'Offensive',
  5: 'Favorite',
  6: 'Close',
  7: 'Reopen',
  8: 'BountyStart',
  9: 'BountyClose',
  10: 'Deletion',
  11: 'Undeletion',
  12: 'Spam',
  15: 'ModeratorReview',
  16: 'ApproveEditSuggestion',
};

/** Attributes with free text, which can refer to characters that no record can hold. */
const TEXTS = ['Title', 'Body', 'Tags', 'Text', 'DisplayName'];
const ALTERED = 'contains NUL or half of a surrogate pair, imported as U+FFFD';

/** The tag that the sites themselves give to a question that has lost its tags. */
const UNTAGGED = 'untagged';
/** Posts are indexed in memory, and a `Map` holds at most 16 million entries. */
const MOST_POSTS = 10_000_000;

export const stackExchange: Format = {
  name: 'stack-exchange',
  forms: ['xml'],
  files: /^(?:Posts|Users|Comments|Votes)\.xml/i,
  isWhole: true,
  open: (options, derivation) => new Dump(options, derivation),
};

interface QuestionPost {
  readonly id: bigint;
  /** Undefined if the account was deleted. */
  readonly ownerId: bigint | undefined;
  readonly title: string;
  readonly tag: string;
}

class Dump implements Translator {
  readonly #meanings: Readonly<Record<string, string | null>>;
  readonly #derivation: Derivation;
  readonly #questions = new Map<number, QuestionPost>();
  /** The question of each answer. */
  readonly #answers = new Map<number, number>();

  constructor({ mapping = {} }: FormatOptions, derivation: Derivation) {
    this.#meanings = { ...INTERACTIONS, ...mapping };
    this.#derivation = derivation;
  }

  survey(record: FormatSource): void {
    const { posts } = record;
    if (!isObject(posts)) return;
    const post = withTexts(posts);
    const id = idOf(post, 'Id');
    const sort = sortOf(post, 'PostTypeId', POSTS);
    if (sort === 'question') this.#questions.set(Number(id), questionOf(post, id));
    else if (sort === 'answer') this.#answers.set(Number(id), Number(idOf(post, 'ParentId')));
    if (this.#questions.size + this.#answers.size <= MOST_POSTS) return;
    throw new AppError('option-malformed', 'A dump of more than 10 million posts cannot be imported.');
  }

  translate(record: FormatSource): readonly Translation[] {
    const [[table = '', written] = []] = Object.entries(record);
    if (!isObject(written)) throw new Refusal('', 'is not a row');
    const row = withTexts(written);
    const translations = this.#translateRow(table, row);
    if (row === written || translations.some((one) => 'dropped' in one)) return translations;
    return [...translations, { altered: ALTERED }];
  }

  #translateRow(table: string, row: FormatSource): readonly Translation[] {
    switch (table) {
      case 'users':
        return [{ describes: 'users', person: describedPerson(row) }];
      case 'posts':
        return [this.#translatePost(row)];
      case 'comments':
        return [
          withBody(
            this.#translate(row, { sort: 'comment', table, about: 'PostId', who: 'UserId' }),
            row['Text'],
          ),
        ];
      case 'votes':
        return [this.#translateVote(row)];
      default:
        return [{ dropped: `is not mapped to an event: a row of ${table}` }];
    }
  }

  #translatePost(row: FormatSource): Translation {
    const sort = sortOf(row, 'PostTypeId', POSTS);
    const about = sort === 'answer' ? 'ParentId' : 'Id';
    const translated = this.#translate(row, { sort, table: 'posts', about, who: 'OwnerUserId' });
    if (sort === 'answer') return withBody(translated, row['Body']);
    if (sort !== 'question' || !('pin' in translated) || translated.pin === undefined) return translated;
    const { pin } = translated;
    const title = detailOf(row['Title'], pin.title.text);
    return { ...translated, pin: { ...pin, title, body: wordOf(row['Body']), tags: tagsOf(row) } };
  }

  #translateVote(row: FormatSource): Translation {
    const sort = sortOf(row, 'VoteTypeId', VOTES);
    // Only the user who asked can accept an answer, so the dump names no user.
    const who = sort === 'AcceptedByOriginator' ? undefined : 'UserId';
    return this.#translate(row, { sort, table: 'votes', about: 'PostId', who });
  }

  #translate(row: FormatSource, { sort, table, about, who }: Interaction): Translation {
    // Checked for every row, even one that is dropped: a row without an id or a time is damaged.
    const id = idOf(row, 'Id');
    const timestamp = momentOf(row);
    const meaning = meaningOf(lookUp(this.#meanings, sort), 'pin');
    if (meaning === undefined) return { dropped: `is not mapped to an event: ${sort}` };
    const question = this.#questionOf(Number(idOf(row, about)));
    if (question === undefined) return { dropped: `is about a post that is in none of the files: ${sort}` };
    const actorId = who === undefined ? question.ownerId : idIfAny(row, who);
    if (actorId === undefined) return { dropped: `names no user: ${sort}` };
    const { ownerId, title, tag } = question;
    const event: ForeignEvent = {
      ...{ id: this.#derivation.eventNumberOf(`stack-exchange ${table} ${id}`), ...meaning, timestamp },
      owner: ownerId === undefined ? undefined : personOf(ownerId),
      actor: personOf(actorId),
      board: { id: this.#derivation.numberOf('board', `stack-exchange tag ${tag}`), title: derived(tag) },
    };
    if (meaning.type !== 'pin') return event;
    return { ...event, pin: { id: question.id, title: derived(title || `Question ${question.id}`) } };
  }

  /** The question with this id, or the question of the answer with this id. */
  #questionOf(post: number): QuestionPost | undefined {
    return this.#questions.get(post) ?? this.#questions.get(this.#answers.get(post) ?? post);
  }
}

/** The row with storable texts; the same object if all of them are. */
function withTexts(row: FormatSource): FormatSource {
  const altered = TEXTS.filter((name) => !isStorable(wordOf(row[name])));
  if (altered.length === 0) return row;
  return { ...row, ...Object.fromEntries(altered.map((name) => [name, storable(wordOf(row[name]))])) };
}

/** What a row represents, and the names of its attributes for the post and the user. */
interface Interaction {
  readonly sort: string;
  readonly table: string;
  readonly about: string;
  /** Undefined: the user is the owner of the question. */
  readonly who: string | undefined;
}

/**
 * The name of a type; an unknown type is named by the member and its number. Throws `Refusal` when
 * the member is not an integer.
 */
function sortOf(row: FormatSource, member: string, names: Readonly<Record<string, string>>): string {
  const type = String(idOf(row, member));
  return lookUp(names, type) ?? `${member} ${type}`;
}

function questionOf(post: FormatSource, id: bigint): QuestionPost {
  const [tag = UNTAGGED] = tagsOf(post);
  return { id, ownerId: idIfAny(post, 'OwnerUserId'), title: wordOf(post['Title']), tag };
}

/** Tags are written `<one><two>`, in newer dumps `|one|two|`. */
function tagsOf(post: FormatSource): readonly string[] {
  return wordOf(post['Tags'])
    .split(/[<>|]/)
    .filter((tag) => tag !== '');
}

/** The event with what its actor wrote. */
function withBody(translated: Translation, body: unknown): Translation {
  return 'action' in translated ? { ...translated, body: wordOf(body) } : translated;
}

/** Times of a dump are in UTC, without a suffix for it. Throws `Refusal`. */
function momentOf(row: FormatSource): string {
  const written = textOf(row, 'CreationDate');
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?$/.test(written)) return `${written}Z`;
  throw new Refusal('CreationDate', `"${written.slice(0, 50)}" is not a time like 2010-08-25T19:50:51.187`);
}

function personOf(id: bigint): NamedPerson {
  return { id, email: invalidEmail(`${id}`, 'stackexchange'), name: derived(`User ${id}`) };
}

function describedPerson(row: FormatSource): NamedPerson {
  const id = idOf(row, 'Id');
  const name = detailOf(row['DisplayName'], `User ${id}`);
  return { ...personOf(id), name, createdAt: momentOf(row) };
}
