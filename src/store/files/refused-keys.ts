/** The first step of a removal: the keys of the organization are refused by every server. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RemoveOptions } from './version-files.ts';

/**
 * Servers learn of deleted keys within a second (decision 21), and cut responses under way. Until
 * then they need the data: an organization without data would be an empty list for a client.
 */
const NOTICED_MS = 1_000;

/** Deletes the keys. Fulfilled when they are refused. */
export async function refuseKeys(names: readonly string[], { removeKeys }: RemoveOptions): Promise<void> {
  for (const name of names) await removeKeys(name);
  await delay(NOTICED_MS);
}
