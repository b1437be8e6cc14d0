/** Works on many items, a few at a time. */

/**
 * Works on each item, at most `parallel` at a time. `newWorker` is called once for each of them, so
 * that it can have a buffer of its own. The first failure ends it.
 */
export async function inParallel<T>(
  items: Iterable<T>,
  parallel: number,
  newWorker: () => (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let hasFailed = false;
  const run = async () => {
    const work = newWorker();
    for (let next = rest.next(); !hasFailed && next.done !== true; next = rest.next()) {
      await work(next.value).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  const results = await Promise.allSettled(Array.from({ length: parallel }, run));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
