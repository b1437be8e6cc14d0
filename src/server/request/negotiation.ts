/** Chooses the representation and the content encoding of a response (decision 17). */
import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { AppError } from '../../domain/app-error.ts';
import { LISTED, REPRESENTATIONS, type Representation } from '../../render/text/representations.ts';
import { orList, type Parameters } from './parameters.ts';

export type Encoding = 'identity' | 'gzip' | 'zstd';

/** The request header fields that a response of a keyed route depends on. */
export const VARY = 'apikey, Authorization, Accept, Accept-Encoding';

/** In the order of preference, if a client accepts several of them equally. */
const ENCODINGS: Encoding[] = ['zstd', 'gzip', 'identity'];

/**
 * `format` takes precedence over `Accept`. Throws `not-acceptable`; its detail names the one that
 * decided.
 */
export function chooseRepresentation(
  request: IncomingMessage,
  format: Parameters['format'],
  available: readonly Representation[],
): Representation {
  if (format !== undefined) return ofFormat(format, available);
  const chosen = acceptedOf(request, available);
  if (chosen !== undefined) return chosen;
  const types = available.map((representation) => REPRESENTATIONS[representation].mediaType);
  throw new AppError(
    'not-acceptable',
    `The header "Accept" allows none of the available media types. Accept ${orList(types)}.`,
  );
}

function ofFormat(format: Representation, available: readonly Representation[]): Representation {
  if (available.includes(format)) return format;
  const formats = LISTED.filter((name) => available.includes(name));
  throw new AppError(
    'not-acceptable',
    `The parameter "format" asks for "${format}", which is not available for this request. Use ${orList(formats)}.`,
  );
}

function acceptedOf(
  request: IncomingMessage,
  available: readonly Representation[],
): Representation | undefined {
  const { accept } = request.headers;
  // Most programs send `*/*` or nothing, which needs no parsing. Some send an empty field, which
  // they could not mean as a refusal of everything.
  if (accept === undefined || accept === '' || accept === '*/*') return available[0];
  const headers = { accept: withoutParameters(accept) };
  const type = new Negotiator({ headers }).mediaType(
    available.map((name) => REPRESENTATIONS[name].mediaType),
  );
  return available.find((representation) => REPRESENTATIONS[representation].mediaType === type);
}

/** From the semicolon on: a name, and a value that is a token or a quoted string. */
const PARAMETER = /;\s*([^\s;,="]*)\s*(?:=\s*(?:"(?:\\.|[^"\\])*"|[^\s;,]*))?/g;

/**
 * `Accept` with bare media types and their weights. Each representation has one form, so no other
 * parameter chooses between two of them. Clients often send `charset` and the like out of habit.
 */
function withoutParameters(accept: string): string {
  return accept.replace(PARAMETER, (parameter, name: string) =>
    name.toLowerCase() === 'q' ? parameter : '',
  );
}

/**
 * `offered` is in the order of preference. Throws `not-acceptable` when the client accepts no
 * encoding, not even `identity`.
 */
export function chooseEncoding(request: IncomingMessage, offered: readonly Encoding[] = ENCODINGS): Encoding {
  const header = request.headers['accept-encoding'];
  if (header === undefined) return 'identity';
  // Clients that send `*` often expect the encodings that they have always received, not zstd.
  const available = offered.filter((encoding) => encoding !== 'zstd' || /zstd/i.test(String(header)));
  const negotiator = new Negotiator(request);
  // The published types lack the second parameter.
  const encodings: (available: string[], options: { preferred: string[] }) => string[] = negotiator.encodings;
  const accepted = encodings.call(negotiator, available, { preferred: available });
  const chosen = ENCODINGS.find((encoding) => encoding === accepted[0]);
  if (chosen !== undefined) return chosen;
  throw new AppError(
    'not-acceptable',
    `The header "Accept-Encoding" allows none of the available encodings. Accept ${orList(offered)}.`,
  );
}
