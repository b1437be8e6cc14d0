/**
 * Records of other software as events of a bundle. Each format is a small file that defines which
 * event a record represents. Missing values are derived by the rules in docs/other-formats.md.
 */
import { UNKNOWN_OWNER_EMAIL } from '../../domain/unknown-owner.ts';
import type { Written } from '../fields/form.ts';
import { Refusal } from '../fields/refusal.ts';
import type { BoardSource, DateOrder, FormatName } from './choices.ts';

/** Members of a record as written; in CSV all are texts. */
export type FormatSource = Written['value'];

/**
 * A descriptive text: given by the source, or derived. A derived text never replaces a known one.
 */
export interface Detail {
  readonly text: string;
  readonly isGiven: boolean;
}

export function given(text: string): Detail {
  return { text, isGiven: true };
}

export function derived(text: string): Detail {
  return { text, isGiven: false };
}

/** The text of the source if there is one, otherwise the derived text `otherwise`. */
export function detailOf(text: unknown, otherwise: string): Detail {
  return typeof text === 'string' && text !== '' ? given(text) : derived(otherwise);
}

export interface NamedPerson {
  readonly id: bigint;
  readonly email: Detail;
  readonly name: Detail;
  /** Given together, or not at all; then the name is split at its last space. */
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  /** Absent if the source does not give it; then a known one is kept. */
  readonly role?: string | undefined;
  /** As `role`. */
  readonly classRole?: string | undefined;
  /** LMS properties by name, without the prefix `lms.`. They are added to known ones. */
  readonly lms?: Readonly<Record<string, string>> | undefined;
  /** ISO 8601 with an offset. */
  readonly createdAt?: string | undefined;
}

export interface ForeignBoard {
  readonly id: bigint;
  readonly title: Detail;
  /** Absent if the source does not give it; then a known one is kept. */
  readonly category?: string | undefined;
  /** As `category`. Unique in the organization. */
  readonly courseId?: string | undefined;
}

export interface ForeignPin {
  readonly id: bigint;
  readonly title: Detail;
  readonly body?: string | undefined;
  readonly webUrl?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/**
 * The event that a record represents, with the users and objects that it names; checked like any
 * other (decision 28).
 */
export interface ForeignEvent {
  /** Identifies the event in later imports. */
  readonly id: bigint;
  readonly type: string;
  readonly action: string;
  /** Absent if the source names no owner: then the owner is `UNKNOWN_OWNER`. */
  readonly owner: NamedPerson | undefined;
  readonly actor: NamedPerson;
  readonly board: ForeignBoard;
  /** Given exactly when the type is `pin`. */
  readonly pin?: ForeignPin;
  /** ISO 8601 with an offset. */
  readonly timestamp: string;
  /** What the actor wrote, other than the text of the pin; plain text or HTML, as in the source. */
  readonly body?: string | undefined;
  /**
   * The word of the source for what was done, if neither the table of the format nor a mapping has
   * it. The action is then made of this word.
   */
  readonly unlisted?: string | undefined;
}

/**
 * A record that represents no event, which is not an error. The reason is the same for all records
 * of one sort.
 */
export interface Dropped {
  readonly dropped: string;
}

/** Says that values of the record were replaced, beside what it represents. */
interface Altered {
  /** As the reason of `Dropped`. */
  readonly altered: string;
}

interface ForeignMembership {
  readonly boardId: bigint;
  readonly userId: bigint;
}

/** A record that describes a user, a board or a membership, and no event. */
export type DescribedThing =
  | { readonly describes: 'users'; readonly person: NamedPerson }
  | { readonly describes: 'boards'; readonly board: ForeignBoard }
  | ({ readonly describes: 'memberships' } & ForeignMembership);

/**
 * A record that deletes a user, a board, a membership or an event (decision 82). The event is
 * deleted even if a later record of the import is about it: it was withdrawn for good.
 */
export type DeletedThing =
  | { readonly deletes: 'users' | 'boards' | 'events'; readonly id: bigint }
  | ({ readonly deletes: 'memberships' } & ForeignMembership);

export type Translation = ForeignEvent | DescribedThing | DeletedThing | Altered | Dropped;

/** A user in the current version. */
export interface PublishedUser {
  readonly id: bigint;
  readonly email: string;
  /** The value of the `userProperty` of the format. */
  readonly identifier: string;
}

/** Reads one file, or all files of an import if the format is `isWhole`. */
export interface Translator {
  /**
   * Receives every record of the input before the first call of `translate`; only in formats that
   * need it. `place` is the name of its file, without folders, and its line. Throws `Refusal`.
   */
  survey?(record: FormatSource, place: string): void;
  /** Called for each published user with the `userProperty`, after `survey`. */
  learn?(user: PublishedUser): void;
  /**
   * Called once between `survey` and `translate`. Throws `Refusal` when no record of the file can
   * be translated.
   */
  endSurvey?(): void;
  /**
   * All events and descriptions that the record represents. Throws `Refusal` when the record is
   * invalid; then nothing of it is imported.
   */
  translate(record: FormatSource): readonly Translation[];
  /**
   * How the source identifies the user, board or pin with a derived id, in quotes; undefined if it
   * is not known. Called only when there is a problem.
   */
  nameOf?(kind: 'users' | 'boards' | 'pins', id: bigint): string | undefined;
}

/** How the source identifies a user. */
export interface Identity {
  /** The same text for the same user, always. */
  readonly text: string;
  /** The part of the text by which the user is known in the source. */
  readonly word: string;
  /** The kind of identity, in one word. */
  readonly kind: string;
  /** The host named by the identity; absent if there is none. */
  readonly host?: string;
}

/**
 * Derives numbers from the texts by which a source identifies objects, and describes users for whom
 * the source has no description (decision 62).
 */
export interface Derivation {
  /** 53 bits, exact in every client. */
  numberOf(thing: 'board' | 'pin', text: string): bigint;
  /** 63 bits: there are more events, and clients never receive their ids. */
  eventNumberOf(text: string): bigint;
  /** An id of 53 bits as for boards and pins, with a derived name and address. */
  personOf(identity: Identity): NamedPerson;
}

export interface FormatOptions {
  /** Name of an IANA time zone, for sources that give local times. */
  readonly timeZone?: string | undefined;
  readonly dateOrder?: DateOrder | undefined;
  /** What is the board in place of the course; only for xAPI. */
  readonly boardFrom?: BoardSource | undefined;
  /**
   * By the words of the source: the event that each represents (`pin.visited`), or its action alone
   * (`visited`), or null for none. Takes precedence over the format's own table.
   */
  readonly mapping?: Readonly<Record<string, string | null>> | undefined;
  /** Kinds of which the files must contain all records. */
  readonly replaced?: readonly string[] | undefined;
}

/**
 * JSON is an array, one record per line, or a single object in a `.json` file. XML is one row per
 * line.
 */
export type ForeignForm = 'csv' | 'json' | 'xml';

export interface Format {
  /** The value of the option `--as`. */
  readonly name: FormatName;
  /** The forms of its files. */
  readonly forms: readonly ForeignForm[];
  /**
   * The member in which a document can list records. Each is then a record of its own; the other
   * members are translated as a further document.
   */
  readonly list?: string;
  /** Columns that a CSV file must have. */
  readonly columns?: readonly string[];
  /** Whether its standard requires UTF-8; otherwise lines of CSV can be in another code page. */
  readonly isUtf8?: boolean;
  /**
   * All columns in their order, if the source writes their names in the language of its user. They
   * can be behind a column of any name.
   */
  readonly layout?: readonly string[];
  /**
   * Names of the files in a folder that belong to the format; absent: all files of one of its
   * forms.
   */
  readonly files?: RegExp;
  /** Whether its files refer to each other, so that one translator reads all of them. */
  readonly isWhole?: boolean;
  /** Kinds of which its files can contain all records, for `--replace`; absent: none. */
  readonly replaceable?: readonly string[];
  /** LMS property by which published users of the source are recognized, for `learn`. */
  readonly userProperty?: string;
  /** Columns of the source by the field of a record that is made from them, for problems. */
  readonly columnOf?: Readonly<Record<string, string>>;
  /** Member of its records that can identify a user by a digest of the address; absent: none. */
  readonly digestMember?: string;
  /** Whether its times are local, so that it requires a time zone. */
  readonly isLocal?: boolean;
  /**
   * A reader for one file of an import, or for all files if `isWhole`. Throws `option-malformed`
   * when a required option is missing.
   */
  open(options: FormatOptions, derivation: Derivation, users?: KnownUsers): Translator;
}

/** Users whom the import knows. */
export interface KnownUsers {
  /** Whether the current version has the user, forgotten ones included. */
  isPublished(id: bigint): boolean;
  /**
   * The user with the address of which this is the SHA-1, after `mailto:`, in small hexadecimal
   * digits: a published user, or one noted before.
   */
  withDigest(digest: string): bigint | undefined;
  /** Notes an address that the import gives, as written. */
  noteAddress(address: string, id: bigint): void;
}

export const NO_USERS: KnownUsers = {
  isPublished: () => false,
  withDigest: () => undefined,
  noteAddress: () => {},
};

/**
 * The owner if the source names none: always the same, so that no user is mistaken for an owner.
 */
export const UNKNOWN_OWNER: NamedPerson = {
  id: 0n,
  email: derived(UNKNOWN_OWNER_EMAIL),
  name: derived('Unknown'),
};

const LONGEST_HOST = 200;

/**
 * An address that can never exist (RFC 2606), for users whose address the source does not give.
 * `local` is made of the id, so no two users have the same.
 */
export function invalidEmail(local: string, host: string): Detail {
  return derived(`${local}@${host.slice(0, LONGEST_HOST)}.invalid`);
}

/** The pin identified by an IRI. An IRI of the web is also the `webUrl` of the pin. */
export function pinOf(
  derivation: Derivation,
  iri: string,
  title: Detail,
  body: string | undefined,
): ForeignPin {
  const webUrl = /^https?:/i.test(iri) ? iri : undefined;
  return { id: derivation.numberOf('pin', iri), title, body, webUrl };
}

/**
 * The entry of a table for a word of the source, which can be any word, even `constructor`;
 * undefined if the table has none.
 */
export function lookUp<T>(table: Readonly<Record<string, T>>, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** What was done, without who did it, to what and when. */
export type Meaning = Pick<ForeignEvent, 'type' | 'action' | 'unlisted'>;

/**
 * Event type and action from `pin.visited`, or from `visited` with the type that the record shows;
 * undefined for no event.
 */
export function meaningOf(word: string | undefined | null, shownType: string): Meaning | undefined {
  if (word === undefined || word === null) return undefined;
  const [type, action] = word.split('.');
  return action === undefined ? { type: shownType, action: word } : { type: type ?? '', action };
}

/** An id in the source, as digits or as a number. Throws `Refusal`. */
export function idOf(record: FormatSource, member: string, name = member): bigint {
  const id = record[member];
  const digits =
    typeof id === 'string' ? id : Number.isSafeInteger(id) || typeof id === 'bigint' ? `${id}` : '';
  if (/^-?\d{1,18}$/.test(digits)) return BigInt(digits);
  throw new Refusal(name, id === undefined || id === null || id === '' ? 'is required' : 'is not an integer');
}

/** As `idOf`; undefined if the member is absent, null or an empty cell. Throws `Refusal`. */
export function idIfAny(record: FormatSource, member: string, name = member): bigint | undefined {
  const id = record[member];
  return id === undefined || id === null || id === '' ? undefined : idOf(record, member, name);
}

/** The text, or an empty one for any other type: a member of a source can hold anything. */
export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function isObject(value: unknown): value is FormatSource {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Throws `Refusal` when the member is not an object. */
export function memberOf(record: FormatSource, member: string, name = member): FormatSource {
  const value = record[member];
  if (isObject(value)) return value;
  throw new Refusal(name, value === undefined ? 'is required' : 'must be an object');
}

/** Throws `Refusal` when the member is not a text, or is empty. */
export function textOf(record: FormatSource, member: string, name = member): string {
  const text = record[member];
  if (typeof text === 'string' && text !== '') return text;
  throw new Refusal(name, text === undefined ? 'is required' : 'must be text');
}
