/**
 * Splits by the values of LMS properties of users (decision 104). A dataset gives values only for a
 * permission of a key, so a route cannot forget it.
 */

declare const permitted: unique symbol;

/** Name of an LMS property by which a key may split. Only `splitPermission` makes one. */
export type PermittedProperty = string & { readonly [permitted]: true };

/** The fewest users that a shown value, or a number of a value, is about. */
export const FEWEST_USERS = 10;
