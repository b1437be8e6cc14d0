/** The port for the records of administration of a store, in files or in a table. */
import type { AuditHead, AuditMembers } from './audit-record.ts';

/** One act of administration. It never contains secrets, or data about users. */
export interface AuditEntry {
  /** When its record was made, in UTC, to the millisecond. */
  readonly time: string;
  /** Like `keys create`. */
  readonly command: string;
  readonly organization: string | undefined;
  /** The user of the operating system who ran the command. */
  readonly user: string;
  /** The user who ran it with `sudo`. */
  readonly sudoUser: string | undefined;
  readonly host: string;
  readonly what: AuditMembers;
}

/** A line as it is stored. */
export interface StoredLine {
  readonly text: string;
  /** Where it is, for people: a file with the number of the line, or a row. */
  readonly place: string;
  /** False for the end of a file without a line end. */
  readonly isComplete: boolean;
  /** The sequence number that it must have, if its place says so. */
  readonly sequence: number | undefined;
}

export interface AuditTrail {
  /** How many records an interrupted command can leave after the head. */
  readonly mostAfterHead: number;
  /**
   * Adds a record, durably. If no record at all is left, it says in `missing` how many there were.
   * Throws the errors of the storage; then the record is missing, or is after the head.
   */
  append(entry: AuditEntry): Promise<void>;
  /** The last record, as it is kept apart from the records; absent before the first. */
  head(): Promise<AuditHead | undefined>;
  /** All lines in their order, read as they are needed. */
  lines(): AsyncIterable<StoredLine>;
  close(): Promise<void>;
}
