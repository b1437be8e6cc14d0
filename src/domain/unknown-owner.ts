/** The user with the id 0 who owns boards and pins whose owner a source does not name. */

/** An address that can never exist (RFC 2606). */
export const UNKNOWN_OWNER_EMAIL = 'unknown@owner.invalid';

/** The same in SQL, of a row of `table`. */
export function isUnknownOwnerIn(table: string): string {
  return `${table}.id = 0 AND ${table}.email = '${UNKNOWN_OWNER_EMAIL}'`;
}

export function isUnknownOwner({ id, email }: { readonly id: bigint; readonly email: string }): boolean {
  return id === 0n && email === UNKNOWN_OWNER_EMAIL;
}
