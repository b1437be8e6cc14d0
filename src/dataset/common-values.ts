/**
 * The values of an LMS property that many users have. Others identify users and are never shown
 * (decision 104), so a dataset does not tell them apart.
 */
export interface CommonValues {
  /**
   * The empty text for users without a value, then each value that at least `FEWEST_USERS` users
   * have, ascending.
   */
  readonly values: readonly string[];
  /** By index of the user: the place of the value in `values`, or their number for all others. */
  readonly placeOf: Int32Array;
}
