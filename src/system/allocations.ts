/**
 * V8 counts how many of the objects from each place in the code survive a garbage collection, and
 * allocates those of a place where nearly all survive among the old objects. In some processes it
 * soon does so with an object of every request. Each of these then keeps its whole request alive
 * until the next full collection, so all requests are copied twice, and since all survive, V8 never
 * changes its mind. Measurements are in `bench/mechanisms.md`.
 */
import { setFlagsFromString } from 'node:v8';

/** From now on, V8 allocates all objects among the young ones. */
export function allocateYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
