/**
 * The request target as it came over the wire: taken apart, checked, and made harmless for the router and the log.
 */

export const LONGEST_TARGET_BYTES = 8 * 1024;

const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

export class RequestTarget {
  /**
   * Without query, and with single slashes, none of them at its end (decision 67). `*` and the
   * authority of a CONNECT stand as they are.
   */
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  readonly #local: string;

  constructor(requestTarget: string) {
    this.#local = requestTarget.replace(ABSOLUTE_FORM, '');
    const mark = this.#local.indexOf('?');
    this.path = withSingleSlashes(mark === -1 ? this.#local : this.#local.slice(0, mark)) || '/';
    this.query = mark === -1 ? '' : this.#local.slice(mark + 1);
  }

  /** Why the target cannot be read, as a full sentence; absent when it can. */
  get fault(): string | undefined {
    return faultOf(this.#local);
  }

  /** The path decoded leniently: only for comparisons, not the router's reading of it. */
  get decodedPath(): string {
    return decodeLeniently(this.path);
  }

  /**
   * The path without whatever looks like a key, as problems may show it to the client that sent it.
   */
  get shownPath(): string {
    return scrubKeys(this.path);
  }
}

function withSingleSlashes(path: string): string {
  const single = path.replace(/\/{2,}/g, '/');
  return single.endsWith('/') ? single.slice(0, -1) : single;
}

/** A target is visible ASCII without a fragment, and its percent-encodings are UTF-8. */
function faultOf(target: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(target)) return 'The URL holds characters that have to be percent-encoded.';
  if (target.includes('#')) return 'The URL holds a fragment ("#…"). Percent-encode the number sign as %23.';
  if (!target.includes('%')) return undefined;
  try {
    decodeURIComponent(target);
    return undefined;
  } catch {
    return 'The URL holds a percent-encoding that is malformed or no UTF-8. Write a percent sign as %25.';
  }
}

/**
 * What the router gets to see. A target with a fault matches no route but passes the same steps as every other
 * request, so that it is refused in the same place, after the key check.
 */
export function routablePath(requestTarget: string, method: string | undefined): string {
  const target = new RequestTarget(requestTarget);
  if (target.path === '*' && method === 'OPTIONS') return '/';
  return target.fault !== undefined || !target.path.startsWith('/') ? '/*' : target.path;
}

/** Decodes what can be decoded and never fails. */
function decodeLeniently(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

/** Takes out whatever looks like a key: people paste keys in the wrong places (decision 13). */
export function scrubKeys(text: string): string {
  const scrubbed = text.replace(/cork_[\w-]*/gi, 'cork_***');
  return hidesKey(scrubbed) ? '***' : scrubbed;
}

const MOST_DECODINGS = 4;

/** Whether percent-encodings hide a key; text that is encoded more often is treated as one. */
function hidesKey(text: string): boolean {
  let decoded = text;
  for (let times = 0; times < MOST_DECODINGS; times++) {
    const before = decoded;
    decoded = decodeLeniently(before);
    if (/cork_[^*]/i.test(decoded)) return true;
    if (decoded === before) return false;
  }
  return true;
}

/** A path as it may stand in a `Link` or a problem, where not everything that arrives is allowed. */
export function uriReference(path: string): string {
  return path
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/[^\x21-\x7e]|["<>\\^`{|}#[\]]/g, (character) => encodeURIComponent(character));
}
