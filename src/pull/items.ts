/** Reads what a server has answered out of files, with every digit of its numbers. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { AppError } from '../app-error.ts';
import { readObject } from '../ingest/json.ts';
import { readElements } from '../ingest/json-array.ts';

export type Item = Readonly<Record<string, unknown>>;

/** The elements of a JSON array, in bounded memory. Throws `source-refused`. */
export async function* itemsOf(path: string): AsyncGenerator<Item> {
  try {
    for await (const elements of readElements(createReadStream(path))) {
      for (const { text } of elements) yield readObject(text);
    }
  } catch (error) {
    throw noSuch('list', error);
  }
}

/** The values of a JSON object whose values are objects. Throws `source-refused`. */
export async function recordsOf(path: string): Promise<readonly Item[]> {
  try {
    return Object.values(readObject(await readFile(path, 'utf8'))).filter(isItem);
  } catch (error) {
    throw noSuch('map of points', error);
  }
}

function isItem(value: unknown): value is Item {
  return typeof value === 'object' && value !== null;
}

/** A line of NDJSON; members that are undefined are left out. */
export function lineOf(item: Item): string {
  const exact = (_: string, value: unknown) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
  return `${JSON.stringify(item, exact)}\n`;
}

function noSuch(what: string, error: unknown): AppError {
  if (error instanceof Error && 'syscall' in error) throw error;
  return new AppError(
    'source-refused',
    `What the server answers is no ${what} as the interface has it. Check that the URL is the base of a variant.`,
    { cause: error },
  );
}
