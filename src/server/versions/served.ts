/** An organization in service, and which of them is to leave memory first. */
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
  /** When a dataset that is read from disk may be opened again, in case it fits into memory. */
  loadAgainAtMs: number;
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

/** The least recently used dataset in memory, if it has not been used since `sinceMs`. */
export function idleInMemory(all: Iterable<Served>, sinceMs: number): OpenServed | undefined {
  return openByUse(all).find(({ current, opening, lastLeaseMs }) => {
    const isIdle = lastLeaseMs <= sinceMs && !current.isLeased && opening === undefined;
    return isIdle && current.dataset.timeline !== undefined;
  });
}

export function isEmpty(opened: OpenedDataset | undefined): opened is OpenedDataset {
  return opened?.dataset instanceof EmptyDataset;
}
