/** How commands other than imports change an organization: they take turns, and publish. */
import { AppError } from '../../domain/app-error.ts';
import { describeOverdue } from '../../store/overdue.ts';
import type { Outcome, Preview, Publication, PublicationOptions, Store } from '../../store/store.ts';
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
 * applied to that version. Throws `settings-refused` for settings that do not fit the data, and the
 * errors of a publication.
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
    await checkChange(publication);
    const outcome = await publication.publish();
    tellOverdue(organization, outcome);
    return outcome;
  } finally {
    await publication.discard();
  }
}

/** What `publishChange` would change. Throws the same, and changes nothing. */
export async function previewChange(
  store: Store,
  organization: string,
  options: PublicationOptions,
): Promise<Preview> {
  const publication = await store.beginPublication(organization, options);
  try {
    await checkChange(publication);
    return await publication.preview();
  } finally {
    await publication.discard();
  }
}

/** Throws `settings-refused` for settings that do not fit the data. */
export async function checkChange(publication: Publication): Promise<void> {
  await publication.check(({ field, reason }) => {
    throw new AppError('settings-refused', `${field}: ${reason}.`);
  });
}

/** Says which events stay although they are too old to be kept, if there are any. */
export function tellOverdue(organization: string, { overdue }: Pick<Outcome, 'overdue'>): void {
  if (overdue !== undefined) remark(`corkboard: ${describeOverdue(organization, overdue)}`);
}
