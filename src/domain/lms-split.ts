/** The rule for splits by the values of LMS properties of users (decision 104). */

/** The fewest users that a shown value, or a number of a value, is about. */
export const FEWEST_USERS = 10;
