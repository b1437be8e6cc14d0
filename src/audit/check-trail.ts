/**
 * Verifies a chain of audit records: that each is unchanged and follows the one before it, and that
 * none is missing at the end (decision 87).
 */
import { type AuditHead, CHAIN_START, readChained } from './audit-record.ts';
import type { AuditTrail, StoredLine } from './audit-trail.ts';

export interface ChainReport {
  readonly damage: (message: string) => void;
  readonly note: (message: string) => void;
}

/** Further damage is the consequence of the same cause in most cases. */
const MOST_DAMAGE = 10;
const REMEDY = 'Keep the audit records as evidence, and compare them with an archived copy.';

/** Verifies the records of administration of a store. */
export async function checkTrail(trail: AuditTrail, report: ChainReport): Promise<void> {
  // Read first: records that are added in the meantime are after it.
  const head = (await trail.head()) ?? CHAIN_START;
  const chain = new ChainCheck(report, head);
  for await (const line of trail.lines()) chain.take(line);
  chain.end();
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
    this.#isBroken = false;
    this.#before = { sequence, digest };
  }

  end(): void {
    if (this.#head === undefined) return;
    const last = this.#before?.sequence ?? 0;
    const ahead = last - this.#head.sequence;
    if (ahead < 0) {
      this.#damage(`At the end, ${renderRange(last + 1, this.#head.sequence)} removed.`);
    } else if (ahead > 1) {
      this.#report.note(
        `${ahead} audit records are newer than the number of the last one in the catalog. An interrupted command explains one; an older catalog explains more.`,
      );
    }
  }

  /** What is wrong with the position of a record; undefined if nothing is. */
  #wrongOrder({ sequence: expected }: StoredLine, record: AuditHead & { readonly previous: string }) {
    const { sequence, previous } = record;
    if (this.#before === undefined) return this.#wrongStart(expected, sequence, previous);
    const next = this.#before.sequence + 1;
    if (sequence > next) return `before it, ${renderRange(next, sequence - 1)} removed.`;
    if (sequence < next) return `record ${sequence} is after record ${next - 1}: the order was changed.`;
    return previous === this.#before.digest
      ? undefined
      : `record ${sequence} does not follow record ${next - 1} as it is now: one of them was changed.`;
  }

  /** Complete files, or the first rows of a table, may have been archived. */
  #wrongStart(expected: number | undefined, sequence: number, previous: string): string | undefined {
    if (sequence === 1) {
      return previous === CHAIN_START.digest ? undefined : 'the first record was changed.';
    }
    if (expected !== undefined && sequence !== expected) return 'before it, records were removed.';
    this.#report.note(
      `The audit records 1 to ${sequence - 1} are not here. The last of them must have the digest ${previous}; if they were not archived, they were removed.`,
    );
    return undefined;
  }

  #damage(message: string): void {
    this.#damages += 1;
    if (this.#damages <= MOST_DAMAGE) this.#report.damage(`${message} ${REMEDY}`);
    if (this.#damages === MOST_DAMAGE + 1) this.#report.damage('More audit records are damaged.');
  }
}

function renderRange(first: number, last: number): string {
  return first === last ? `audit record ${first} was` : `audit records ${first} to ${last} were`;
}
