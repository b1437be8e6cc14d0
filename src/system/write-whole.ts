/** Writes bytes completely: a system call may write only some of them, such as on a full disk. */
import type { FileHandle } from 'node:fs/promises';

/** `position`: absent to write at the end of what was written before. */
export async function writeWhole(file: FileHandle, bytes: Uint8Array, position?: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const at = position === undefined ? null : position + written;
    written += (await file.write(bytes, written, bytes.length - written, at)).bytesWritten;
  }
}
