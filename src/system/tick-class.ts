/**
 * Node makes an object for each `process.nextTick`, a dozen a request. While none of them lives, the collector drops
 * their hidden class; the engine then takes the class made next for one more kind of object, and from the second kind
 * on builds every one of them in its slow way. Figures are in `bench/mechanisms.md`.
 */
import { executionAsyncResource } from 'node:async_hooks';

let kept: object | undefined;

/** Keeps one of these objects, and by it their class, for as long as the process lives. */
export function keepTickClass(): void {
  if (kept !== undefined) return;
  process.nextTick(() => {
    kept = executionAsyncResource();
  });
}
