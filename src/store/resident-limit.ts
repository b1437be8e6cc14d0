/** How much memory resident datasets take, and how much they may. */
import { totalmem } from 'node:os';
import { availableMemory, constrainedMemory } from 'node:process';
import type { Counts } from '../dataset/dataset.ts';

/**
 * 44 for the columns and the two indexes, and room for a user who is new to the board (4 as one of its people, 36 for
 * a standing) and for an award that counts (16): most events bring none of these.
 */
const EVENT_BYTES = 100;
/**
 * Texts, id, creation, the places in three indexes, and the value of an LMS property or the LTI and
 * course ids.
 */
const NAMED_BYTES = 400;
/** Texts of usual length, id, and its place in the tally of everything. */
const PIN_BYTES = 600;

/** What a version takes in memory, about, rather too much than too little. Rendered fragments are not part of it. */
export function estimateResidentBytes({ events, users, boards, pins }: Counts): number {
  return EVENT_BYTES * events + NAMED_BYTES * (users + boards) + PIN_BYTES * pins;
}

/**
 * Half of the memory of the machine, or of the control group where that has less, but no more than is available now.
 * For one process: several share it.
 */
export function defaultResidentLimit(): number {
  // Without a control group it is 0, or larger than any machine.
  const constrained = constrainedMemory();
  const total = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.floor(Math.min(total / 2, availableMemory()));
}
