/** Makes files, or the entries of folders, durable. */
import { open } from 'node:fs/promises';

/**
 * Returns when the content of a file, or entries of a folder that were created, renamed or removed,
 * survive a power failure.
 */
export async function synchronize(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
