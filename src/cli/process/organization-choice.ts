/** Which organization a command uses that requires one. */
import { Option } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import { hasStorage, type StorageOptions, withNewStore } from './storage.ts';

const VARIABLE = 'CORKBOARD_ORGANIZATION';

/** For commands that require an organization; `chooseOrganization` replaces an absent one. */
export function organizationOption(help: string): Option {
  return new Option('-o, --organization <name>', `${help} (default: the only one)`).env(VARIABLE);
}

/**
 * The options with the name of the organization: the given one, or else the only one of the store.
 * Throws `option-malformed` if the store has none or several. Never creates a data folder.
 */
export async function chooseOrganization<T extends StorageOptions & { readonly organization?: string }>(
  options: T,
): Promise<T & { readonly organization: string }> {
  const { organization } = options;
  if (organization !== undefined) return { ...options, organization };
  const entries = hasStorage(options) ? await withNewStore(options, (store) => store.organizations()) : [];
  const [only, ...others] = entries;
  if (only !== undefined && others.length === 0) return { ...options, organization: only.name };
  throw new AppError(
    'option-malformed',
    only === undefined
      ? `There is no organization yet. "corkboard import" creates the one that --organization NAME or ${VARIABLE} names.`
      : `There are ${entries.length} organizations ("corkboard organizations list"). Name one with --organization NAME or ${VARIABLE}.`,
  );
}
