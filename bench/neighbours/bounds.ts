/** What a tenant may notice of its neighbours, and what the server may take. */

/** For small requests of the victim, beside any attack. */
export const MOST_P99_MS = 50;
/** From the end of `corkboard keys revoke` until the last response to that key has ended. */
export const MOST_REVOCATION_MS = 1_000;
/**
 * What an attack with one key may add to the memory of the server. To be set to what the documented limits of the server
 * allow one key.
 */
export const MOST_ADDED_BYTES = 1e9;

/** Beyond it a phase ends at once, and the report says so: the machine has to survive the measurement. */
export const GUARD_BYTES = 6e9;
/** The same for temporary files. */
export const GUARD_DISK_BYTES = 12e9;

/** What the victim asks, counted apart. */
export const LOOP_NAMES = ['small', 'ready', 'stream', 'parquet', 'export'] as const;
export type LoopName = (typeof LOOP_NAMES)[number];

/** What the victim asks before is not counted: everything is asked for the first time. */
export const WARM_MS = 2_000;
