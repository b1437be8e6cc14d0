/** The state of an organization in service, and which organizations leave memory first. */
import type { Dataset } from '../../dataset/dataset.ts';
import { EmptyDataset } from '../../store/empty-dataset.ts';
import type { Secrets } from '../request/secrets.ts';
import type { Failure } from './failure.ts';
import type { OpenedDataset } from './opened-dataset.ts';

export interface Served {
  /** Changes when the organization is renamed. */
  organization: string;
  /** Identifies the organization under any name; differs from that of a later one of its name. */
  identity: string;
  secrets: Secrets;
  current: OpenedDataset | undefined;
  /** One opening at a time; all requests wait for the same one. */
  opening: Promise<void> | undefined;
  /** Absent while the current version is in service, or has not been requested. */
  failure: Failure | undefined;
  /** When the store may be asked again for the current version. */
  retryAtMs: number;
  /** Since when the store has not known the name; absent: it knows it. */
  unknownSinceMs: number | undefined;
  lastLeaseMs: number;
  /** Opening the version in service again, in memory, while it is read from disk. */
  loading: Promise<void> | undefined;
  /** When to look again whether it fits into memory. */
  loadAtMs: number;
}

/** An organization whose dataset is open. */
interface OpenServed extends Served {
  current: OpenedDataset;
}

/** Organizations with open data, the least recently used one first. */
export function openByUse(all: Iterable<Served>): OpenServed[] {
  return [...all].filter(isOpen).sort((one, other) => one.lastLeaseMs - other.lastLeaseMs);
}

function isOpen(served: Served): served is OpenServed {
  return served.current !== undefined && !isEmpty(served.current);
}

/**
 * The datasets in memory that have not been used since `sinceMs`, least recently used first, as
 * many as take `bytes` together; undefined if all of them take less.
 */
export function idleInMemory(
  all: Iterable<Served>,
  { bytes, sinceMs }: { readonly bytes: number; readonly sinceMs: number },
  heldBytes: (dataset: Dataset) => number,
): Served[] | undefined {
  const idle: Served[] = [];
  let missing = bytes;
  for (const served of openByUse(all)) {
    if (missing <= 0) break;
    const { current, opening, lastLeaseMs } = served;
    const held = heldBytes(current.dataset);
    if (held === 0 || lastLeaseMs > sinceMs || current.isLeased || opening !== undefined) continue;
    idle.push(served);
    missing -= held;
  }
  return missing > 0 ? undefined : idle;
}

export function isEmpty(opened: OpenedDataset | undefined): opened is OpenedDataset {
  return opened?.dataset instanceof EmptyDataset;
}

/** The secret of an organization as a key of maps. */
export function identityOf(secret: Uint8Array): string {
  return Buffer.from(secret).toString('base64');
}

/** Names of organizations ignore case. */
export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
