/**
 * Compares a version file with what the catalog says: the head of the file names the version, its
 * number, and the organization by a digest of its secret (decision 65).
 */
import type { DuckDBValue } from '@duckdb/node-api';
import { AppError } from '../../../domain/app-error.ts';
import { organizationDigest } from '../../organization-digest.ts';
import type { OrganizationEntry, PublishedVersion } from '../../store.ts';
import { bigint, text } from '../../stored-values.ts';
import { readFormat, tableOf } from './schema.ts';

export type NamedPublication = Pick<PublishedVersion, 'publication' | 'version'>;

/** What a version file must be. */
export interface ExpectedVersion {
  readonly organization: Pick<OrganizationEntry, 'secret' | 'settings'>;
  /** Absent for an earlier version in a data folder, whose catalog names only the current one. */
  readonly version?: string | undefined;
  /** The number in the file; absent if it is not known: a copy keeps that of its original. */
  readonly publication?: number | undefined;
  /** The publications up to a later version; one of those with its number is the version. */
  readonly history?: readonly NamedPublication[];
  /** The file, as messages call it. */
  readonly name: string;
  /** What to do if it is a different version; a sentence. */
  readonly remedy: string;
}

/** A version file that is not the one that the catalog names. */
export class WrongVersion extends AppError {
  constructor(message: string) {
    super('data-unreadable', message);
  }
}

const IDENTITY = 'version, organization_id, publication, organization_digest';
const HEAD =
  'version, last_sequence, organization_id, title, domain, category_id, course_lookup, lms_user_properties, user_points_key, policy';

export interface VerifiedVersion {
  readonly format: number;
  /** Version, last sequence and settings, in the order of `HEAD`. */
  readonly head: readonly DuckDBValue[];
}

/**
 * Reads the format and the head of a version file. Throws `WrongVersion` if it is not the expected
 * version, and the errors of `readFormat`. `file`: as for `tableOf`.
 */
export async function verifyVersion(
  ask: (sql: string) => Promise<DuckDBValue[][]>,
  expected: ExpectedVersion,
  file?: string,
): Promise<VerifiedVersion> {
  const format = await readFormat(ask, file);
  const [row] = await ask(`SELECT ${IDENTITY}, ${HEAD} FROM ${tableOf('version', format, file)}`);
  if (row === undefined) throw new Error('the generation names no version');
  const [version, id, publication, digest = null, ...head] = row;
  const named = { version: text(version), publication: Number(publication) };
  const isForeign = isOfOther(expected, bigint(id), digest === null ? undefined : text(digest));
  const instead = insteadOf(expected, named);
  if (!isForeign && instead === undefined) return { format, head };
  const found = `the version ${named.version}${isForeign ? ' of a different organization' : ''}`;
  const wanted = instead === undefined ? '' : ` instead of ${instead}`;
  throw new WrongVersion(`${expected.name} is ${found}${wanted}. ${expected.remedy}`);
}

/** Up to 0.2, files had no digest: they are known by their version, or else by the id. */
function isOfOther({ organization, version }: ExpectedVersion, id: bigint, digest?: string): boolean {
  if (digest !== undefined) return digest !== organizationDigest(organization.secret);
  return version === undefined && id !== organization.settings.id;
}

/** What the file should have been, if it is a different version. */
function insteadOf(expected: ExpectedVersion, head: NamedPublication): string | undefined {
  const { version, publication = head.publication, history = [] } = expected;
  if (version !== undefined) return version === head.version ? undefined : version;
  if (publication !== head.publication) return `the one with the number ${publication}`;
  const named = history.filter((one) => one.publication === publication).map((one) => one.version);
  return named.length === 0 || named.includes(head.version) ? undefined : named.join(' or ');
}
