/** The limits for the effect of attacks on a tenant, and for the resources of the server. */

/** For small requests of the victim during any attack. */
export const MOST_P99_MS = 50;
/** From the end of `corkboard keys revoke` until the last response to that key has ended. */
export const MOST_REVOCATION_MS = 1_000;
/** Memory that one key can hold within the documented limits (docs/operations.md, fair shares). */
const OF_KEY_BYTES = 32 * 9e6 + 2 * 20e6;
/**
 * `connections-per-key` and `connections-without-key`, times the memory of the runtime and the
 * system per connection.
 */
const OF_CONNECTIONS_BYTES = (1_536 + 1_024) * 100e3;
const OF_VERSION_BYTES = 16e6;
const OF_EVENT_BYTES = 150;

/** The memory that an attack may add to a server with `versions` replaced versions still open. */
export function mostAddedBytes(versions: number, eventsOfEach: number): number {
  const ofVersion = OF_VERSION_BYTES + OF_EVENT_BYTES * eventsOfEach;
  return OF_KEY_BYTES + OF_CONNECTIONS_BYTES + versions * ofVersion;
}

/**
 * With more memory than this, a phase ends at once and the report says so, to protect the machine.
 */
export const GUARD_BYTES = 6e9;
/** The same limit for temporary files. */
export const GUARD_DISK_BYTES = 12e9;

/** The kinds of requests of the victim, counted separately. */
export const LOOP_NAMES = ['small', 'ready', 'stream', 'parquet', 'export'] as const;
export type LoopName = (typeof LOOP_NAMES)[number];

/** Requests of the victim before this time are not counted, because caches are still empty. */
export const WARM_MS = 2_000;
