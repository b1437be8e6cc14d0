/**
 * Requests that a key may not send although it is in force. A refusal depends only on the key and
 * the request, and comes before any data is read, so that it reveals nothing about the data.
 */
import { AppError } from '../../domain/app-error.ts';
import type { PermittedProperty } from '../../domain/lms-split.ts';
import { isRedacting } from '../../domain/redaction.ts';
import { type KeyEntry, mayLookUpPeople, maySeeLmsIds, splitPermission } from '../../keys/keyring.ts';
import type { ParsedRequest } from './parsed-request.ts';

/**
 * Returns the permission to split by an LMS property if the request needs it. Throws
 * `lookup-not-allowed` (decision 63), `split-not-allowed` (decision 104), `gradebook-not-allowed`
 * and `lms-ids-not-allowed` (decision 101).
 */
export function checkPermission(
  { route, subject, parameters }: Pick<ParsedRequest, 'route' | 'subject' | 'parameters'>,
  key: KeyEntry,
): PermittedProperty | undefined {
  if (subject.isLmsLookup && !mayLookUpPeople(key)) {
    throw new AppError(
      'lookup-not-allowed',
      'This key sees pseudonyms, and may not look up users by LMS properties. Ask the operator for a key that may.',
    );
  }
  const { property } = parameters;
  const split = property === undefined ? undefined : splitPermission(property, key);
  if (property !== undefined && split === undefined) {
    throw new AppError(
      'split-not-allowed',
      'This key may not split activity by this LMS property. Ask the operator for a key that has it in "--lms-splits".',
    );
  }
  if (route.namesUsers !== true) return split;
  if (isRedacting(key.redact)) {
    throw new AppError(
      'gradebook-not-allowed',
      'This key sees pseudonyms, which no gradebook can match with its users. Ask the operator for a key that redacts nothing.',
    );
  }
  if (parameters.id !== undefined && !maySeeLmsIds(key)) {
    throw new AppError(
      'lms-ids-not-allowed',
      'This key may not see the LMS ids of users. Leave out "id", or ask the operator for a key with "--allow-lms-lookup".',
    );
  }
  return split;
}
