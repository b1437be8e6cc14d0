/** Waiting for the turn to publish: one publication at a time per organization. */
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../domain/app-error.ts';
import type { PublicationOptions } from './store.ts';

const RETRY_AFTER_MS = 100;

/** Retries until `tryToTake` succeeds, for up to `waitMs`. Then throws `organization-busy`. */
export async function waitForTurn(
  tryToTake: () => boolean | Promise<boolean>,
  { waitMs, onWait }: PublicationOptions,
): Promise<void> {
  const deadlineMs = performance.now() + waitMs;
  let told = false;
  while (!(await tryToTake())) {
    if (performance.now() >= deadlineMs) {
      throw new AppError(
        'organization-busy',
        'Another import or configuration of this organization is in progress. Try again when it has finished.',
      );
    }
    if (!told) onWait?.();
    told = true;
    await delay(RETRY_AFTER_MS);
  }
}
