/** Builds the common properties of a version from the rows of a store. */
import type { Dataset } from '../../../dataset/dataset.ts';
import { bigint, text, userPointsKey } from '../../stored-values.ts';

export type VersionHead = Pick<
  Dataset,
  'version' | 'organization' | 'lookups' | 'userPointsKey' | 'policy' | 'counts' | 'lastSequence' | 'kinds'
>;

/**
 * `head`: as `verifyVersion` returns it. `counts`: of events, users, boards and pins. `kinds`: type
 * and action, by index. Integers are numbers or bigints.
 */
export function headOf(
  head: readonly unknown[],
  counts: readonly unknown[],
  kinds: readonly (readonly unknown[])[],
): VersionHead {
  const [version, lastSequence, organizationId, title, domain, categoryId] = head;
  const [course, properties, pointsKey, policy] = head.slice(6);
  const [events, users, boards, pins] = counts.map(Number) as [number, number, number, number];
  return {
    version: text(version),
    lastSequence: Number(lastSequence),
    organization: {
      id: bigint(organizationId),
      title: text(title),
      domain: text(domain),
      categoryId: bigint(categoryId),
    },
    lookups: { course: course === true, lmsUserProperties: JSON.parse(text(properties)) },
    userPointsKey: userPointsKey(pointsKey),
    policy: text(policy),
    counts: { events, users, boards, pins },
    kinds: kinds.map(([type, action]) => ({ type: text(type), action: text(action) })),
  };
}

/** A head and the format of the file, as text. */
export function encodeHead(head: VersionHead, format: number): string {
  const { version, organization, lookups, userPointsKey: key, policy, counts, lastSequence, kinds } = head;
  const ids = { id: String(organization.id), categoryId: String(organization.categoryId) };
  return JSON.stringify({
    ...{ format, version, organization: { ...organization, ...ids } },
    ...{ lookups, userPointsKey: key, policy, counts, lastSequence, kinds },
  });
}

export function decodeHead(encoded: string): { readonly head: VersionHead; readonly format: number } {
  const { format, organization, ...head } = JSON.parse(encoded);
  const ids = { id: BigInt(organization.id), categoryId: BigInt(organization.categoryId) };
  return { format, head: { ...head, organization: { ...organization, ...ids } } };
}
