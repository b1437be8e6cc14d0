/** Under which paths which variant answers, and which of these paths want a key (decisions 1, 13). */
import type { Variant } from '../render/answer.ts';
import type { Route, VariantTable } from './route.ts';
import { decodeLeniently, readTarget } from './target.ts';
import { VARIANT_A } from './variant-a.ts';
import { VARIANT_B } from './variant-b.ts';

const TABLES: Readonly<Record<Variant, VariantTable>> = { a: VARIANT_A, b: VARIANT_B };

export interface PublishedBase {
  /** Path under which the variant answers, without a slash at its end; empty for the root. */
  readonly base: string;
  readonly table: VariantTable;
}

export function publishedBases(defaultVariant: Variant): readonly PublishedBase[] {
  return [
    { base: '', table: TABLES[defaultVariant] },
    { base: '/a', table: VARIANT_A },
    { base: '/b', table: VARIANT_B },
  ];
}

/**
 * Whether nothing may be said about a path before the key is checked. Rather once too often than too rarely: an
 * odd spelling that the router would not follow wants the key too.
 */
export function isKeyed(requestTarget: string, published: readonly PublishedBase[]): boolean {
  const path = decodeLeniently(readTarget(requestTarget).path);
  return published.some(
    ({ base, table }) =>
      path.startsWith(`${base}/v1/`) ||
      ['/v1', ...table.unversioned].some((keyedPath) => path === base + keyedPath),
  );
}

/** Under which paths a route answers, in the notation of the router, which takes no hyphens in names. */
export function routeUrls(base: string, table: VariantTable, route: Route): readonly string[] {
  const path = route.path.replace(/\{([^}]+)\}/g, (_, name: string) => `:${name.replaceAll('-', '_')}`);
  return table.unversioned.includes(route.path) ? [`${base}/v1${path}`, base + path] : [`${base}/v1${path}`];
}
