/** The memory that resident datasets need, and its limit. */
import type { Counts } from '../dataset/dataset.ts';
import { freeMemory, machineMemory } from '../system/machine-memory.ts';

/**
 * 40 for the row and the two indexes; the rest for a user who is new on the board (4 in its list of
 * users, 17 for a points total) and for an award that counts (16). Most events need only the 40.
 */
const EVENT_BYTES = 77;
/**
 * Id, creation time, offsets of texts, positions in three indexes, and the value of an LMS property
 * or the LTI and course ids.
 */
const NAMED_BYTES = 250;
/** Id, offsets of texts, and the position in the tally of all events. */
const PIN_BYTES = 50;

/**
 * Estimates the memory of a version, rather too high than too low. Excludes rendered fragments.
 * `textBytes`: of all texts of users, boards and pins.
 */
export function estimateResidentBytes({ events, users, boards, pins }: Counts, textBytes: number): number {
  return EVENT_BYTES * events + NAMED_BYTES * (users + boards) + PIN_BYTES * pins + textBytes;
}

/**
 * Half of the memory of the machine, or of its control group if that is less, but at most the
 * memory available now. It is meant for one process; several processes share it.
 */
export function defaultResidentLimit(): number {
  return Math.floor(Math.min(machineMemory() / 2, freeMemory()));
}
