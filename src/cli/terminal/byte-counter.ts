/** The progress of work whose length is unknown, on standard error: a line every few seconds. */
import { remark } from './output.ts';

const LINE_EVERY_MS = 5_000;
const MEGABYTE = 1e6;

/** Returns a function that adds bytes that are done. */
export function countBytes(label: string): (bytes: number) => void {
  let total = 0;
  let lastMs = performance.now();
  return (bytes) => {
    total += bytes;
    if (performance.now() - lastMs < LINE_EVERY_MS) return;
    lastMs = performance.now();
    remark(`${label}: ${Math.round(total / MEGABYTE).toLocaleString('en')} MB`);
  };
}
