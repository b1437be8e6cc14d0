/** How commands other than imports change an organization: they take turns, and publish. */
import { AppError } from '../../domain/app-error.ts';
import type { Outcome, Publication, PublicationOptions, Store } from '../../store/store.ts';
import { remark } from '../terminal/output.ts';

/** Waits up to `waitMs` for a different change of the organization, and says so. */
export function turnOf(
  organization: string,
  waitMs: number,
): Required<Pick<PublicationOptions, 'waitMs' | 'onWait'>> {
  return { waitMs, onWait: () => remark(`Waiting for another change of ${organization} to finish.`) };
}

/**
 * Publishes what `change` makes of the current version; without it, the rules of the organization
 * applied to that version. Throws `settings-refused` for settings that do not fit the data.
 */
export async function publishChange(
  store: Store,
  organization: string,
  options: PublicationOptions,
  change?: (publication: Publication) => void,
): Promise<Outcome> {
  const publication = await store.beginPublication(organization, options);
  try {
    change?.(publication);
    await publication.check(({ field, reason }) => {
      throw new AppError('settings-refused', `${field}: ${reason}.`);
    });
    return await publication.publish();
  } finally {
    await publication.discard();
  }
}
