/**
 * The path of a request as the log shows it (decision 65): words of routes, and numbers of boards
 * and users. Anything else may name a user, or be a key in the wrong place, percent-encoded or not.
 */
import { type PublishedBase, routerName } from '../routes/variants.ts';

const HIDDEN = '*';
const MOST_SEGMENTS = 12;

export class LoggedPaths {
  /** Static segments of all routes. */
  readonly #words = new Set<string>();
  /** Path parameters that are numbers, as spelled for the router. */
  readonly #numbers: ReadonlySet<string>;
  /** Segments of each pattern that has parameters. */
  readonly #named = new Map<string, readonly string[]>();

  constructor(published: readonly PublishedBase[]) {
    const names = published.flatMap(({ table }) => table.routes.flatMap((route) => route.names));
    this.#numbers = new Set(
      names.filter(({ type }) => type === 'identifier').map(({ name }) => `:${routerName(name)}`),
    );
  }

  /** Must be called with the pattern of every route. */
  add(pattern: string): void {
    const segments = pattern.split('/');
    const words = segments.filter((segment) => !isName(segment));
    for (const word of words) this.#words.add(word);
    if (words.length < segments.length) this.#named.set(pattern, segments);
  }

  /** `pattern` is the pattern of the route; absent when the path matches none. */
  show(path: string, pattern: string | undefined): string {
    if (pattern === undefined) return this.#showUnmatched(path);
    const named = this.#named.get(pattern);
    if (named === undefined) return pattern;
    const segments = path.split('/', named.length);
    // The first segment is empty: patterns begin with a slash.
    let shown = '';
    for (let at = 1; at < named.length; at++) shown += `/${this.#showNamed(named[at]!, segments[at] ?? '')}`;
    return shown;
  }

  #showUnmatched(path: string): string {
    const segments = path.split('/', MOST_SEGMENTS);
    return segments.map((text) => (this.#words.has(text) ? text : HIDDEN)).join('/');
  }

  #showNamed(name: string, text: string): string {
    if (!isName(name)) return name;
    return this.#numbers.has(name) && /^-?\d{1,19}$/.test(text) ? text : HIDDEN;
  }
}

function isName(segment: string): boolean {
  return segment.startsWith(':') || segment === '*';
}
