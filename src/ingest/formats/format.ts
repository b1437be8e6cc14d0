/**
 * What other software writes about the same things, as events of a bundle: each format is a small file that says which
 * event a record stands for. What a source does not say is derived by rules that docs/other-formats.md states.
 */
import type { Written } from '../fields/form.ts';
import { Refusal } from '../fields/refusal.ts';
import type { DateOrder, FormatName } from './choices.ts';

/** Members of a record as it was written; in CSV texts. */
export type FormatSource = Written['value'];

/** What describes something: as the source gives it, or derived, which never replaces what is known. */
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

/** As the source gives it; where it gives nothing, derived. */
export function detailOf(text: unknown, otherwise: string): Detail {
  return typeof text === 'string' && text !== '' ? given(text) : derived(otherwise);
}

export interface NamedPerson {
  readonly id: bigint;
  readonly email: Detail;
  readonly name: Detail;
  /** ISO 8601 with an offset. */
  readonly createdAt?: string | undefined;
}

export interface ForeignBoard {
  readonly id: bigint;
  readonly title: Detail;
}

export interface ForeignPin {
  readonly id: bigint;
  readonly title: Detail;
  readonly body?: string | undefined;
  readonly webUrl?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** The event that a record stands for, with whom and what it names, to be checked like any other (decision 28). */
export interface ForeignEvent {
  /** Makes the event known again. */
  readonly id: bigint;
  readonly type: string;
  readonly action: string;
  /** Absent where the source names none: then it is `UNKNOWN_OWNER`. */
  readonly owner: NamedPerson | undefined;
  readonly actor: NamedPerson;
  readonly board: ForeignBoard;
  /** Given exactly when the type is `pin`. */
  readonly pin?: ForeignPin;
  /** ISO 8601 with an offset. */
  readonly timestamp: string;
}

/** What stands for no event, which is no mistake; with the reason, the same for all of its sort. */
export interface Dropped {
  readonly dropped: string;
}

/** What tells of a person or a board, and of nothing that was done. */
export type DescribedThing =
  | { readonly describes: 'users'; readonly person: NamedPerson }
  | { readonly describes: 'boards'; readonly board: ForeignBoard };

export type Translation = ForeignEvent | DescribedThing | Dropped;

/** Reads one file, or all files of an import where they are about one another. */
export interface Translator {
  /** Sees every record of what it reads before the first is translated, where the format has this. Throws `Refusal`. */
  survey?(record: FormatSource): void;
  /** Called once between the two. Throws `Refusal` when no record of the file can be translated. */
  endSurvey?(): void;
  /** All that the record stands for. Throws `Refusal` when it does not hold; then nothing of it is taken. */
  translate(record: FormatSource): readonly Translation[];
}

/** How the source identifies a person. */
export interface Identity {
  /** The same text for the same person. */
  readonly text: string;
  /** The part of it by which people know the person there. */
  readonly word: string;
  /** The kind of identity, in one word. */
  readonly kind: string;
  /** The host that the identity names; absent where it names none. */
  readonly host?: string;
}

/**
 * Makes numbers of the texts by which a source identifies things, and describes people whom it does
 * not (decision 62).
 */
export interface Derivation {
  /** Of 53 bits, exact in every client. */
  numberOf(thing: 'board' | 'pin', text: string): bigint;
  /** Of 63 bits: there are more events, and no client is given their ids. */
  eventNumberOf(text: string): bigint;
  /** The number as of boards and pins, with a name and an address that the source does not give. */
  personOf(identity: Identity): NamedPerson;
}

export interface FormatOptions {
  /** Name of an IANA time zone, for sources that give local times. */
  readonly timeZone?: string | undefined;
  readonly dateOrder?: DateOrder | undefined;
  /** By the words of the source: what each stands for, `pin.visited`, or null for nothing; before the format's own. */
  readonly mapping?: Readonly<Record<string, string | null>> | undefined;
}

/** JSON may be an array or a record a line, and where a `.json` file holds one object, that alone; XML a row a line. */
export type ForeignForm = 'csv' | 'json' | 'xml';

export interface Format {
  /** As `--as` has it. */
  readonly name: FormatName;
  /** What its files are. */
  readonly forms: readonly ForeignForm[];
  /** Columns that a CSV file must have. */
  readonly columns?: readonly string[];
  /** Which files of a folder are its own; absent: all that are named by one of its forms. */
  readonly files?: RegExp;
  /** Whether its files are about one another, so that one translator sees all of them. */
  readonly isWhole?: boolean;
  /** Whether its times are local, so that it wants a zone. */
  readonly isLocal?: boolean;
  /** A reader for each file of an import, or for all of them. Throws `option-malformed` where an option is missing. */
  open(options: FormatOptions, derivation: Derivation): Translator;
}

/** Who owns what the source names no owner of: always the same, so that nobody is taken for an owner. */
export const UNKNOWN_OWNER: NamedPerson = {
  id: 0n,
  email: derived('unknown@owner.invalid'),
  name: derived('Unknown'),
};

const LONGEST_HOST = 200;

/**
 * An address that can never exist (RFC 2606), for people whose address the source does not give.
 * `local` is made of the id, so no two people have the same.
 */
export function invalidEmail(local: string, host: string): Detail {
  return derived(`${local}@${host.slice(0, LONGEST_HOST)}.invalid`);
}

/** The pin that is named by an IRI, which is its page where it is one of the web. */
export function pinOf(
  derivation: Derivation,
  iri: string,
  title: Detail,
  body: string | undefined,
): ForeignPin {
  const webUrl = /^https?:/i.test(iri) ? iri : undefined;
  return { id: derivation.numberOf('pin', iri), title, body, webUrl };
}

/** What a table says of a word of the source, which can be any, `constructor` included; undefined when it is not there. */
export function lookUp<T>(table: Readonly<Record<string, T>>, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** What a word of the source stands for: type and action; undefined for nothing. */
export function meaningOf(word: string | undefined | null): { type: string; action: string } | undefined {
  if (word === undefined || word === null) return undefined;
  const [type = '', action = ''] = word.split('.');
  return { type, action };
}

/** A number that names something there, as digits or as a number. Throws `Refusal`. */
export function idOf(record: FormatSource, member: string, name = member): bigint {
  const id = record[member];
  const digits =
    typeof id === 'string' ? id : Number.isSafeInteger(id) || typeof id === 'bigint' ? `${id}` : '';
  if (/^-?\d{1,18}$/.test(digits)) return BigInt(digits);
  throw new Refusal(name, id === undefined || id === null || id === '' ? 'is required' : 'is not an integer');
}

/** The same where there may be none: absent, null or an empty cell. Throws `Refusal`. */
export function idIfAny(record: FormatSource, member: string, name = member): bigint | undefined {
  const id = record[member];
  return id === undefined || id === null || id === '' ? undefined : idOf(record, member, name);
}

/** A text, whatever else stands in its place: what a source holds can be anything. */
export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function isObject(value: unknown): value is FormatSource {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Throws `Refusal` where there is no object. */
export function memberOf(record: FormatSource, member: string, name = member): FormatSource {
  const value = record[member];
  if (isObject(value)) return value;
  throw new Refusal(name, value === undefined ? 'is required' : 'must be an object');
}

/** Throws `Refusal` where there is no text. */
export function textOf(record: FormatSource, member: string, name = member): string {
  const text = record[member];
  if (typeof text === 'string' && text !== '') return text;
  throw new Refusal(name, text === undefined ? 'is required' : 'must be text');
}
