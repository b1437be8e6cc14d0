/**
 * Node creates an object for each `process.nextTick`, about a dozen per request. While none of them
 * is alive, the garbage collector drops their hidden class. V8 then treats the next hidden class as
 * an additional one, and from the second one on it creates every such object on its slow path.
 * Measurements are in `bench/mechanisms.md`.
 */
import { executionAsyncResource } from 'node:async_hooks';

let kept: object | undefined;

/** Keeps one of these objects, and thereby their hidden class, alive until the process ends. */
export function keepTickClass(): void {
  if (kept !== undefined) return;
  process.nextTick(() => {
    kept = executionAsyncResource();
  });
}
