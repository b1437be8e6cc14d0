/** The paths of each variant, and which of them require a key (decisions 1, 13). */
import type { Variant } from '../../render/text/rendered-body.ts';
import type { RequestTarget } from '../http/target.ts';
import type { Route, VariantTable } from '../request/route.ts';
import { INSIGHTS } from './insights.ts';
import { VARIANT_A } from './variant-a.ts';
import { VARIANT_B } from './variant-b.ts';

const TABLES: Readonly<Record<Variant, VariantTable>> = { a: VARIANT_A, b: VARIANT_B };

export interface PublishedBase {
  /** Path of the variant, without a slash at its end; empty for the root. */
  readonly base: string;
  readonly table: VariantTable;
  /** Path of its OpenAPI document, which requires no key. */
  readonly document: string;
  /**
   * Paths of this base that begin with this prefix, or are in `keyedPaths`, require a key;
   * `document` does not.
   */
  readonly keyedPrefix: string;
  readonly keyedPaths: readonly string[];
}

export function publishedBases(defaultVariant: Variant): readonly PublishedBase[] {
  return [
    publishedBase('', TABLES[defaultVariant]),
    publishedBase('/a', VARIANT_A),
    publishedBase('/b', VARIANT_B),
    publishedBase('/insights', INSIGHTS, '/insights/v1/openapi.json'),
  ];
}

function publishedBase(base: string, table: VariantTable, document = `${base}/openapi.json`): PublishedBase {
  const keyedPaths = ['/v1', ...table.unversioned].map((path) => base + path);
  return { base, table, document, keyedPrefix: `${base}/v1/`, keyedPaths };
}

/**
 * Whether the response may reveal nothing about a path before the key is checked. In doubt the key
 * is required: this includes odd spellings that the router would not match.
 */
export function isKeyed({ decodedPath }: RequestTarget, published: readonly PublishedBase[]): boolean {
  return published.some(
    ({ keyedPrefix, keyedPaths, document }) =>
      decodedPath !== document && (decodedPath.startsWith(keyedPrefix) || keyedPaths.includes(decodedPath)),
  );
}

/** The router allows no hyphens in names. */
export function routerName(name: string): string {
  return name.replaceAll('-', '_');
}

/** The paths of a route, in the notation of the router. */
export function routeUrls(base: string, table: VariantTable, route: Route): readonly string[] {
  const path = route.path.replace(/\{([^}]+)\}/g, (_, name: string) => `:${routerName(name)}`);
  return table.unversioned.includes(route.path) ? [`${base}/v1${path}`, base + path] : [`${base}/v1${path}`];
}
