/** The memory of the machine. */
import { totalmem } from 'node:os';
import { constrainedMemory } from 'node:process';

/** In bytes: of the machine, or of its control group if that is less. */
export function machineMemory(): number {
  // 0 or more than any machine has, if there is no control group.
  const constrained = constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
