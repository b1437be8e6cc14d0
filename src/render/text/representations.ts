/**
 * The one table of the forms in which answers are given (decision 17): what each is called, how it
 * is written, and what may be asked of it. Negotiation, routes, parameters, OpenAPI documents and
 * the client follow from it.
 */
import type { Frame } from './frame.ts';
import type { Notation } from './notation.ts';

interface Form {
  readonly mediaType: string;
  /** Where it says more than the media type. */
  readonly contentType?: string;
  /** Every list has it, and `format` names it; the others are chosen in other ways, and not everywhere. */
  readonly isListed: boolean;
  /** Whether `Accept-Encoding` has a say. */
  readonly isEncodable: boolean;
  /** How items are written; absent where they are no text. Changes can be told in JSON alone. */
  readonly notation?: Notation;
  /** What stands around the items of a list whose columns have these names. */
  readonly frame?: (columns: string) => Partial<Frame>;
}

const JSON_FORM = {
  mediaType: 'application/json',
  isListed: true,
  isEncodable: true,
  notation: 'json',
} as const;

const CSV_FORM = {
  mediaType: 'text/csv',
  contentType: 'text/csv; charset=utf-8; header=present',
  isEncodable: true,
  frame: (columns: string) => ({
    ...{ beforeFirst: `${columns}\r\n`, afterEach: '\r\n', empty: `${columns}\r\n` },
  }),
} as const;

/** In the order of preference, where a client likes them alike. */
export const REPRESENTATIONS = {
  json: {
    ...JSON_FORM,
    frame: () => ({ beforeFirst: '[', beforeOthers: ',', afterLast: ']', empty: '[]' }),
  },
  ndjson: { ...JSON_FORM, mediaType: 'application/x-ndjson', frame: () => ({ afterEach: '\n' }) },
  csv: { ...CSV_FORM, isListed: true, notation: 'csv' },
  /** CSV for spreadsheets, which `excel=1` chooses. */
  excel: { ...CSV_FORM, isListed: false, notation: 'excel' },
  /** Compressed by itself. */
  parquet: { mediaType: 'application/vnd.apache.parquet', isListed: true, isEncodable: false },
  /** Of events alone. What is live must not wait in a compressor. */
  'event-stream': {
    ...{ mediaType: 'text/event-stream', isListed: false, isEncodable: false, notation: 'json' },
    frame: () => ({ beforeFirst: 'data: ', beforeOthers: 'data: ', afterEach: '\n\n' }),
  },
} as const satisfies Record<string, Form>;

type Table = typeof REPRESENTATIONS;
type Which<Wanted> = { [R in keyof Table]: Table[R] extends Wanted ? R : never }[keyof Table];

export type Representation = keyof Table;
export type ListedRepresentation = Which<{ readonly isListed: true }>;
export type TextRepresentation = Which<{ readonly notation: Notation }>;
/** Tables of rows without names cannot be kept in step. */
export type ChangesRepresentation = Which<{ readonly notation: 'json' }>;

export const LISTED = namesOf((name): name is ListedRepresentation => REPRESENTATIONS[name].isListed);

function namesOf<R extends Representation>(isWanted: (name: Representation) => name is R): readonly R[] {
  return Object.keys(REPRESENTATIONS).filter((name): name is R => isWanted(name as Representation));
}

export function isText(name: Representation): name is TextRepresentation {
  return 'notation' in REPRESENTATIONS[name];
}

export function tellsChanges(name: Representation): name is ChangesRepresentation {
  const form: Form = REPRESENTATIONS[name];
  return form.notation === 'json';
}

export function contentTypeOf(name: Representation): string {
  const form: Form = REPRESENTATIONS[name];
  return form.contentType ?? form.mediaType;
}

/** The frame of a list of items; `columns` are the names in the first line of a table. */
export function listFrame(name: TextRepresentation, columns: string): Frame {
  const none = { beforeFirst: '', beforeOthers: '', afterEach: '', afterLast: '', empty: '' };
  return { ...none, ...REPRESENTATIONS[name].frame(columns) };
}
