/**
 * Reads of long ranges of a timeline, at most two at a time per process. Each occupies one of the
 * four threads in which Node waits for the database, and small queries must always find a free one
 * (decision 60).
 */
const MOST_UNDER_WAY = 2;

let underWay = 0;
const waiting: (() => void)[] = [];

export async function inBulkLane<T>(read: () => Promise<T>): Promise<T> {
  // A read that ends passes its slot to the next one.
  if (underWay === MOST_UNDER_WAY) await new Promise<void>((resolve) => waiting.push(resolve));
  else underWay += 1;
  try {
    return await read();
  } finally {
    const next = waiting.shift();
    if (next === undefined) underWay -= 1;
    else next();
  }
}
