/**
 * Why a record is refused; passed from the check that finds it to the report. Not an `Error`,
 * because a file can contain a million of them and their stacks would be of no use.
 */
export class Refusal {
  /** The field as written in the file; empty when the whole record is refused. */
  readonly field: string;
  readonly reason: string;

  constructor(field: string, reason: string) {
    this.field = field;
    this.reason = reason;
  }
}

/**
 * Ends the reading of an input whose remaining content cannot be read. Records read before it
 * remain valid.
 */
export class Damage extends Error {}
