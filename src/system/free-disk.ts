/** Free space on disks. */
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Free bytes in a folder, by default that for temporary files; 0 if it does not exist. */
export function freeDiskBytes(folder = tmpdir()): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
