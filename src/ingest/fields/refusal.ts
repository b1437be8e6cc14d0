/**
 * Why a record is refused, on its way from the check that finds it to the report. Not an `Error`: a file can hold a
 * million of them, and nobody wants their stacks.
 */
export class Refusal {
  /** As it is written in the file; empty when the whole record is meant. */
  readonly field: string;
  readonly reason: string;

  constructor(field: string, reason: string) {
    this.field = field;
    this.reason = reason;
  }
}

/** Ends the reading of one input: what follows in it cannot be read. Records read before stay good. */
export class Damage extends Error {}
