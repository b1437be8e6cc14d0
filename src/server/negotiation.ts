/** Which representation and which content encoding a client gets (decision 17). */
import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { AppError } from '../app-error.ts';
import type { Representation } from '../render/answer.ts';

export type Encoding = 'identity' | 'gzip' | 'zstd';

export const MEDIA_TYPES: Readonly<Record<Representation, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  excel: 'text/csv',
  'event-stream': 'text/event-stream',
  parquet: 'application/vnd.apache.parquet',
};

const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

export const CONTENT_TYPES: Readonly<Record<Representation, string>> = {
  json: MEDIA_TYPES.json,
  ndjson: MEDIA_TYPES.ndjson,
  csv: CSV_TYPE,
  excel: CSV_TYPE,
  parquet: MEDIA_TYPES.parquet,
  'event-stream': MEDIA_TYPES['event-stream'],
};

/** Most wanted first, where a client likes them alike. */
const ENCODINGS: Encoding[] = ['zstd', 'gzip', 'identity'];

/** `format` wins over `Accept`. Throws `not-acceptable`. */
export function chooseRepresentation(
  request: IncomingMessage,
  format: Representation | undefined,
  available: readonly Representation[],
): Representation {
  const types = available.map((representation) => MEDIA_TYPES[representation]);
  const chosen =
    format === undefined ? acceptedOf(request, available, types) : available.find((name) => name === format);
  if (chosen !== undefined) return chosen;
  throw new AppError(
    'not-acceptable',
    `None of the accepted media types is available. Accept ${orList(types)}.`,
  );
}

function acceptedOf(
  request: IncomingMessage,
  available: readonly Representation[],
  types: readonly string[],
): Representation | undefined {
  const { accept } = request.headers;
  // What most programs send, or mean by sending nothing, needs no reading.
  if (accept === undefined || accept === '*/*') return available[0];
  const type = new Negotiator(request).mediaType([...types]);
  return available.find((representation) => MEDIA_TYPES[representation] === type);
}

/** Throws `not-acceptable` when every encoding, none included, is forbidden. */
export function chooseEncoding(request: IncomingMessage): Encoding {
  const header = request.headers['accept-encoding'];
  if (header === undefined) return 'identity';
  // Clients that say `*` often mean what they have always been sent, which is not zstd.
  const available = ENCODINGS.filter((encoding) => encoding !== 'zstd' || /zstd/i.test(String(header)));
  const negotiator = new Negotiator(request);
  // The published types do not know the second parameter yet.
  const encodings: (available: string[], options: { preferred: string[] }) => string[] = negotiator.encodings;
  const accepted = encodings.call(negotiator, available, { preferred: available });
  const chosen = ENCODINGS.find((encoding) => encoding === accepted[0]);
  if (chosen !== undefined) return chosen;
  throw new AppError(
    'not-acceptable',
    `None of the accepted content encodings is available. Accept ${orList(ENCODINGS)}.`,
  );
}

function orList(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
