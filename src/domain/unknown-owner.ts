/** The user with the id 0 who owns boards and pins whose owner a source does not name. */

/** An address that can never exist (RFC 2606). */
export const UNKNOWN_OWNER_EMAIL = 'unknown@owner.invalid';

export function isUnknownOwner({ id, email }: { readonly id: bigint; readonly email: string }): boolean {
  return id === 0n && email === UNKNOWN_OWNER_EMAIL;
}
