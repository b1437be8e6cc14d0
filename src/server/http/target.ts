/** The request target as received: split, checked, and made safe for the router and the log. */

export const LONGEST_TARGET_BYTES = 8 * 1024;

const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

export class RequestTarget {
  /**
   * Without the query, with single slashes and no slash at its end (decision 67). `*` and the
   * authority of a CONNECT are unchanged.
   */
  readonly path: string;
  /** Without the question mark; empty when there is no query. */
  readonly query: string;
  /** As received. */
  readonly text: string;
  readonly #local: string;

  constructor(requestTarget: string) {
    this.text = requestTarget;
    this.#local = requestTarget.startsWith('/') ? requestTarget : requestTarget.replace(ABSOLUTE_FORM, '');
    const mark = this.#local.indexOf('?');
    this.path = withSingleSlashes(mark === -1 ? this.#local : this.#local.slice(0, mark)) || '/';
    this.query = mark === -1 ? '' : this.#local.slice(mark + 1);
  }

  /** The reason why the target cannot be parsed, as a full sentence; absent when it can. */
  get fault(): string | undefined {
    return faultOf(this.#local);
  }

  /** The path, decoded leniently. Only for comparisons; the router decodes differently. */
  get decodedPath(): string {
    return decodeLeniently(this.path);
  }

  /** The path without anything that looks like a key, safe to send back in a problem. */
  get shownPath(): string {
    return scrubKeys(this.path);
  }
}

function withSingleSlashes(path: string): string {
  const single = path.includes('//') ? path.replace(/\/{2,}/g, '/') : path;
  return single.endsWith('/') ? single.slice(0, -1) : single;
}

/** A target must be visible ASCII without a fragment, and its percent-encodings must be UTF-8. */
function faultOf(target: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(target)) return 'The URL contains characters that must be percent-encoded.';
  if (target.includes('#'))
    return 'The URL contains a fragment ("#…"). Percent-encode the number sign as %23.';
  if (!target.includes('%')) return undefined;
  try {
    decodeURIComponent(target);
    return undefined;
  } catch {
    return 'The URL contains a percent-encoding that is malformed or not UTF-8. Write a percent sign as %25.';
  }
}

/**
 * The path for the router. A target with a fault matches no route but passes the same steps as
 * every other request, so it is refused in the same place, after the key check.
 */
export function routablePath(requestTarget: string, method: string | undefined): string {
  const target = new RequestTarget(requestTarget);
  if (target.path === '*' && method === 'OPTIONS') return '/';
  return target.fault !== undefined || !target.path.startsWith('/') ? '/*' : target.path;
}

/** Decodes every byte escape and leaves the rest as it is. Never fails. */
function decodeLeniently(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

/** Removes anything that looks like a key: people paste keys in the wrong places (decision 13). */
export function scrubKeys(text: string): string {
  const scrubbed = text.replace(/cork_[\w-]*/gi, 'cork_***');
  return hidesKey(scrubbed) ? '***' : scrubbed;
}

const MOST_DECODINGS = 4;

/**
 * Whether percent-encodings hide a key. Text with more levels of encoding is treated as if it did.
 */
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

/**
 * A path as a URI reference for `Link` and problems: characters that are not allowed there are
 * encoded.
 */
export function uriReference(path: string): string {
  return path
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/[^\x21-\x7e]|["<>\\^`{|}#[\]]/g, (character) => encodeURIComponent(character));
}
