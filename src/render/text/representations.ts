/**
 * The table of all representations (decision 17): the name of each, how it is written, and which
 * options it has. Negotiation, routes, parameters, OpenAPI documents and the client are derived
 * from it.
 */
import type { Frame } from './frame.ts';
import type { Notation } from './notation.ts';

interface RepresentationForm {
  readonly mediaType: string;
  /** Present if it differs from the media type. */
  readonly contentType?: string;
  /**
   * Whether every list has this representation and `format` names it. The others are selected in
   * other ways, and not everywhere.
   */
  readonly isListed: boolean;
  /** Whether `Accept-Encoding` applies. */
  readonly isEncodable: boolean;
  /** How items are written; absent if they are not text. Change sets require the JSON notation. */
  readonly notation?: Notation;
  /** The texts around the items of a list; `columns` are the names of its columns. */
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
} as const;

/** Without it, Excel expects no UTF-8. */
export const BYTE_ORDER_MARK = '\ufeff';
/** In UTF-8, one character for each byte. */
const MARK_BYTES = Buffer.from(BYTE_ORDER_MARK).toString('latin1');

const csvFrame = (columns: string) => ({
  ...{ beforeFirst: `${columns}\r\n`, afterEach: '\r\n', empty: `${columns}\r\n` },
});

/** In order of preference, for a client that accepts several equally. */
export const REPRESENTATIONS = {
  json: {
    ...JSON_FORM,
    frame: () => ({ beforeFirst: '[', beforeOthers: ',', afterLast: ']', empty: '[]' }),
  },
  ndjson: { ...JSON_FORM, mediaType: 'application/x-ndjson', frame: () => ({ afterEach: '\n' }) },
  csv: { ...CSV_FORM, isListed: true, notation: 'csv', frame: csvFrame },
  /** CSV for spreadsheets, selected by `excel=1`. */
  excel: {
    ...{ ...CSV_FORM, isListed: false, notation: 'excel' },
    frame: (columns) => csvFrame(MARK_BYTES + columns),
  },
  /** Not encodable, because the format is compressed already. */
  parquet: { mediaType: 'application/vnd.apache.parquet', isListed: true, isEncodable: false },
  /** For events only. Not encodable, because live events must not wait in a compressor. */
  'event-stream': {
    ...{ mediaType: 'text/event-stream', isListed: false, isEncodable: false, notation: 'json' },
    frame: () => ({ beforeFirst: 'data: ', beforeOthers: 'data: ', afterEach: '\n\n' }),
  },
} as const satisfies Record<string, RepresentationForm>;

type RepresentationTable = typeof REPRESENTATIONS;
type Which<Wanted> = {
  [R in keyof RepresentationTable]: RepresentationTable[R] extends Wanted ? R : never;
}[keyof RepresentationTable];

export type Representation = keyof RepresentationTable;
export type ListedRepresentation = Which<{ readonly isListed: true }>;
export type TextRepresentation = Which<{ readonly notation: Notation }>;
/** Representations of change sets. Tables are excluded, because their rows have no sync ids. */
export type ChangesRepresentation = Which<{ readonly notation: 'json' }>;

export const LISTED = namesOf((name): name is ListedRepresentation => REPRESENTATIONS[name].isListed);

function namesOf<R extends Representation>(isWanted: (name: Representation) => name is R): readonly R[] {
  return Object.keys(REPRESENTATIONS).filter((name): name is R => isWanted(name as Representation));
}

export function isText(name: Representation): name is TextRepresentation {
  return 'notation' in REPRESENTATIONS[name];
}

export function tellsChanges(name: Representation): name is ChangesRepresentation {
  const form: RepresentationForm = REPRESENTATIONS[name];
  return form.notation === 'json';
}

export function contentTypeOf(name: Representation): string {
  const form: RepresentationForm = REPRESENTATIONS[name];
  return form.contentType ?? form.mediaType;
}

/** The frame of a list; `columns` are the names in the first line of a table. */
export function listFrame(name: TextRepresentation, columns: string): Frame {
  const none = { beforeFirst: '', beforeOthers: '', afterEach: '', afterLast: '', empty: '' };
  return { ...none, ...REPRESENTATIONS[name].frame(columns) };
}
