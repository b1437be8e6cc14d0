/**
 * Verifies a chain of audit records: that each is unchanged and follows the one before it, and that
 * none is missing at the end (decision 87).
 */
import {
  type AuditHead,
  type AuditMembers,
  CHAIN_START,
  type ChainedRecord,
  readChained,
} from './audit-record.ts';
import type { AuditTrail, StoredLine } from './audit-trail.ts';

export interface ChainReport {
  readonly damage: (message: string) => void;
  readonly note: (message: string) => void;
}

/** Further damage is the consequence of the same cause in most cases. */
const MOST_DAMAGE = 10;
/** The command whose record says that the records before a number were archived. */
export const ARCHIVED = 'audit archived';
const REMEDY = 'Keep the audit records as evidence, and compare them with an archived copy.';

/** Verifies the records of administration of a store. */
export async function checkTrail(trail: AuditTrail, report: ChainReport): Promise<void> {
  // Read first and last: records that are added in the meantime are between the two.
  const head = (await trail.head()) ?? CHAIN_START;
  const chain = new ChainCheck(report, head);
  for await (const line of trail.lines()) chain.take(line);
  const newest = (await trail.head()) ?? CHAIN_START;
  chain.end(newest.sequence + trail.mostAfterHead);
}

/** Verifies the lines of a chain in their order. */
export class ChainCheck {
  readonly #report: ChainReport;
  readonly #head: AuditHead | undefined;
  #damages = 0;
  /** The record before; undefined at the start. */
  #before: AuditHead | undefined;
  /** Whether the line before could not be read, so that the next record follows nothing known. */
  #isBroken = false;
  /** The first record, if no record before it was left when it was written. */
  #survivor: (ChainedRecord & Pick<StoredLine, 'place'>) | undefined;
  /** Records before this number were archived, according to a record. */
  #archivedBefore = 1;

  /** Without a head, missing records at the end cannot be noticed. */
  constructor(report: ChainReport, head?: AuditHead) {
    this.#report = report;
    this.#head = head;
  }

  take(line: StoredLine): void {
    const { place, text, isComplete } = line;
    if (!isComplete) {
      this.#report.note(
        `${place}: the record is incomplete, because a command was interrupted while it wrote it. The next record replaces it.`,
      );
      return;
    }
    const record = readChained(text);
    if (record === undefined) {
      this.#isBroken = true;
      this.#damage(`${place}: the record was changed.`);
      return;
    }
    const { sequence, digest } = record;
    const wrong = this.#isBroken ? undefined : this.#wrongOrder(line, record);
    if (wrong !== undefined) this.#damage(`${place}: ${wrong}`);
    if (sequence === this.#head?.sequence && digest !== this.#head.digest) {
      this.#damage(`${place}: record ${sequence} is not the one that was written last.`);
    }
    this.#archivedBefore = Math.max(this.#archivedBefore, archivedBefore(record));
    this.#isBroken = false;
    this.#before = { sequence, digest };
  }

  /** `newest`: the largest number that a record can have, even if a command was interrupted. */
  end(newest: number): void {
    this.#judgeStart();
    // Its number is not known, and it is reported.
    if (this.#isBroken) return;
    const last = this.#before?.sequence ?? 0;
    if (this.#head !== undefined && last < this.#head.sequence) {
      const how = this.#before === undefined ? ` ${howToArchive(this.#head.sequence + 1)}` : '';
      this.#damage(`At the end, ${renderRange(last + 1, this.#head.sequence)} removed.${how}`);
    } else if (last > newest) {
      this.#damage(
        `At the end, ${renderRange(newest + 1, last)} added by no command, or the catalog is an older one.`,
      );
    }
  }

  /** Archiving leaves the last records, so somebody must say that all of them were archived. */
  #judgeStart(): void {
    if (this.#survivor === undefined) return;
    const { place, sequence, previous } = this.#survivor;
    if (sequence <= this.#archivedBefore) this.#noteArchived(sequence, previous);
    else {
      this.#damage(
        `${place}: when the record was written, ${renderRange(1, sequence - 1)} not here. The last of them must have the digest ${previous}. ${howToArchive(sequence)}`,
      );
    }
  }

  /** What is wrong with the position of a record; undefined if nothing is. */
  #wrongOrder(line: StoredLine, record: ChainedRecord): string | undefined {
    const { sequence, previous } = record;
    if (this.#before === undefined) return this.#wrongStart(line, record);
    const next = this.#before.sequence + 1;
    if (sequence > next) return `before it, ${renderRange(next, sequence - 1)} removed.`;
    if (sequence < next) return `record ${sequence} is after record ${next - 1}: the order was changed.`;
    return previous === this.#before.digest
      ? undefined
      : `record ${sequence} does not follow record ${next - 1} as it is now: one of them was changed.`;
  }

  /** Complete files, or the first rows of a table, may have been archived. */
  #wrongStart({ place, sequence: expected }: StoredLine, record: ChainedRecord): string | undefined {
    const { sequence, previous } = record;
    if (sequence === 1) {
      return previous === CHAIN_START.digest ? undefined : 'the first record was changed.';
    }
    if (expected !== undefined && sequence !== expected) return 'before it, records were removed.';
    if (record.members['missing'] === undefined) this.#noteArchived(sequence, previous);
    else this.#survivor = { ...record, place };
    return undefined;
  }

  #noteArchived(sequence: number, previous: string): void {
    this.#report.note(
      `The audit records 1 to ${sequence - 1} are not here. The last of them must have the digest ${previous}; if they were not archived, they were removed.`,
    );
  }

  #damage(message: string): void {
    this.#damages += 1;
    if (this.#damages <= MOST_DAMAGE) this.#report.damage(`${message} ${REMEDY}`);
    if (this.#damages === MOST_DAMAGE + 1) this.#report.damage('More audit records are damaged.');
  }
}

/** The number that the record of an archive names; 1 for every other record. */
function archivedBefore({ members: { command, what } }: ChainedRecord): number {
  return command === ARCHIVED ? Number((what as AuditMembers | undefined)?.['before']) : 1;
}

function howToArchive(before: number): string {
  return `If they were archived, say so with "corkboard audit archived --before ${before}".`;
}

function renderRange(first: number, last: number): string {
  return first === last ? `audit record ${first} was` : `audit records ${first} to ${last} were`;
}
