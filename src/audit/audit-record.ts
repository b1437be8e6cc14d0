/**
 * The form of audit records: one line of JSON each, chained by SHA-256 digests (decision 87). A
 * record contains its sequence number, the digest of the record before it, and, last, the digest of
 * the line without this member.
 */
import { hash } from 'node:crypto';
import { escapeLineEnds } from '../domain/json-text.ts';

/** The last record of a chain. */
export interface AuditHead {
  readonly sequence: number;
  /** SHA-256, in lower-case hexadecimal digits. */
  readonly digest: string;
}

export type AuditMembers = Readonly<Record<string, unknown>>;

/** A record that was read, and whose own digest is right. */
export interface ChainedRecord extends AuditHead {
  /** The digest of the record before it. */
  readonly previous: string;
  readonly members: AuditMembers;
}

/** Before the first record. */
export const CHAIN_START: AuditHead = { sequence: 0, digest: '0'.repeat(64) };

const DIGEST = /^(.+),"digest":"([0-9a-f]{64})"\}$/;

/** The record that follows `before`, as a line without its end, and the head with it. */
export function chainRecord(members: object, before: AuditHead): { line: string; head: AuditHead } {
  const sequence = before.sequence + 1;
  const body = renderExact({ sequence, ...members, previous: before.digest });
  const digest = hash('sha256', body);
  return { line: `${body.slice(0, -1)},"digest":"${digest}"}`, head: { sequence, digest } };
}

/** Undefined if the line is not a record, or does not have its digest. */
export function readChained(line: string): ChainedRecord | undefined {
  const [, start, digest = ''] = DIGEST.exec(line) ?? [];
  if (start === undefined || hash('sha256', `${start}}`) !== digest) return undefined;
  try {
    const members = JSON.parse(`${start}}`);
    const { sequence, previous } = members;
    if (!Number.isSafeInteger(sequence) || typeof previous !== 'string') return undefined;
    return { sequence, digest, previous, members };
  } catch {
    return undefined;
  }
}

/** JSON in one line, with all digits of a `bigint`. */
export function renderExact(value: unknown): string {
  const exact = (_name: string, member: unknown) =>
    typeof member === 'bigint' ? JSON.rawJSON(String(member)) : member;
  return escapeLineEnds(JSON.stringify(value, exact));
}
