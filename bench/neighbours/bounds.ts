/** What a tenant may notice of its neighbours, and what the server may take. */

/** For small requests of the victim, beside any attack. */
export const MOST_P99_MS = 50;
/** From the end of `corkboard keys revoke` until the last response to that key has ended. */
export const MOST_REVOCATION_MS = 1_000;
/** What the documented limits let one key hold (docs/operations.md, fair shares). */
const OF_KEY_BYTES = 32 * 9e6 + 2 * 20e6;
/** `connections-per-key` and `connections-without-key`, with what the runtime and the system keep for each. */
const OF_CONNECTIONS_BYTES = (1_536 + 1_024) * 100e3;
const OF_VERSION_BYTES = 16e6;
const OF_EVENT_BYTES = 150;

/** What an attack may add to the memory of the server that keeps so many replaced versions open. */
export function mostAddedBytes(versions: number, eventsOfEach: number): number {
  const ofVersion = OF_VERSION_BYTES + OF_EVENT_BYTES * eventsOfEach;
  return OF_KEY_BYTES + OF_CONNECTIONS_BYTES + versions * ofVersion;
}

/** Beyond it a phase ends at once, and the report says so: the machine has to survive the measurement. */
export const GUARD_BYTES = 6e9;
/** The same for temporary files. */
export const GUARD_DISK_BYTES = 12e9;

/** What the victim asks, counted apart. */
export const LOOP_NAMES = ['small', 'ready', 'stream', 'parquet', 'export'] as const;
export type LoopName = (typeof LOOP_NAMES)[number];

/** What the victim asks before is not counted: everything is asked for the first time. */
export const WARM_MS = 2_000;
