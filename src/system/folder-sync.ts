/** Makes the entries of a folder durable. */
import { open } from 'node:fs/promises';

/** Returns when entries that were created, renamed or removed survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
