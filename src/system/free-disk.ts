/** Free space for temporary files. */
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Free bytes in the folder for temporary files; 0 if there is none. */
export function freeDiskBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(tmpdir());
    return bavail * bsize;
  } catch {
    return 0;
  }
}
