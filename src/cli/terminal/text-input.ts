/** Small text files that an option names; `-` is standard input. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { AppError } from '../../domain/app-error.ts';

/** Throws `file-unreadable`. */
export async function readTextInput(path: string): Promise<string> {
  if (path === '-') return text(process.stdin);
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AppError('file-unreadable', `Cannot read ${path} (${reason}).`, { cause: error });
  }
}
