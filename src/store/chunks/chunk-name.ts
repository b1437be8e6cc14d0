/**
 * Refuses invalid names of chunks before a place turns them into a path or a key. An invalid name
 * is a bug that users cannot fix, so the error is not an `AppError`.
 */
import { CHUNK_NAME } from './chunk-place.ts';

const CHUNK_PREFIX = /^([a-z0-9-]{0,64}|[a-z0-9-]{1,64}\/[a-z0-9-]{0,96})$/;

export function assertChunkNames(names: readonly string[]): void {
  for (const name of names)
    if (!CHUNK_NAME.test(name)) throw new TypeError('This is not the name of a chunk.');
}

/** Empty, or the beginning of a name. */
export function assertChunkPrefix(prefix: string): void {
  if (!CHUNK_PREFIX.test(prefix)) throw new TypeError('No name of a chunk begins like this.');
}
