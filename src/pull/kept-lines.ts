/**
 * The files that a pull keeps: lines that end with a line feed, written and read only by Corkboard.
 */
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { AppError } from '../domain/app-error.ts';
import { readObject } from '../ingest/fields/json.ts';
import { readLines } from '../ingest/input/lines.ts';
import { refused } from './refusal.ts';

export type Item = Readonly<Record<string, unknown>>;

/** A line of NDJSON. Undefined members are omitted; integers have all digits. */
export function lineOf(item: Item): string {
  const exact = (_: string, value: unknown) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
  return `${JSON.stringify(item, exact)}\n`;
}

/** The disk space that one pull may still use for its files. */
export class LineRoom {
  #leftBytes: number;

  constructor(leftBytes: number) {
    this.#leftBytes = leftBytes;
  }

  /** Throws `source-refused`. */
  take(bytes: number): void {
    if (bytes > this.#leftBytes) {
      throw refused('its responses would fill more than half of the free disk space');
    }
    this.#leftBytes -= bytes;
  }

  giveBack(bytes: number): void {
    this.#leftBytes += bytes;
  }
}

const GATHERED_CHARACTERS = 256 * 1024;

/**
 * Writes a file with these lines, which appears under its name when it is complete. Returns its
 * size in bytes. Throws `source-refused` when it exceeds `room`, and `data-unreadable` when it
 * cannot be written.
 */
export async function keepLines(path: string, lines: AsyncIterable<string>, room: LineRoom): Promise<number> {
  const unfinished = `${path}.part`;
  let bytes = 0;
  try {
    const file = await open(unfinished, 'w', 0o600).catch(unkeepable);
    try {
      for await (const gathered of gather(lines)) {
        const chunk = Buffer.from(gathered);
        room.take(chunk.length);
        bytes += chunk.length;
        await file.writeFile(chunk).catch(unkeepable);
      }
    } finally {
      await file.close();
    }
    await rename(unfinished, path).catch(unkeepable);
    return bytes;
  } catch (error) {
    room.giveBack(bytes);
    await rm(unfinished, { force: true });
    throw error;
  }
}

async function* gather(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let gathered = '';
  for await (const line of lines) {
    gathered += line;
    if (gathered.length < GATHERED_CHARACTERS) continue;
    yield gathered;
    gathered = '';
  }
  if (gathered !== '') yield gathered;
}

/** An error of the local disk is not an error of the server, so the request is not repeated. */
function unkeepable(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an error';
  throw new AppError(
    'data-unreadable',
    `Cannot store the responses of the server in the data folder: the system reports ${code}. Free some space, or use a different folder with --data.`,
    { cause: error },
  );
}

/**
 * A kept file differs from what was written: the disk was full or is damaged, or the file was
 * changed.
 */
export class KeptDamage extends Error {}

/** Lines of a kept file without their line feeds, many at a time. Throws `KeptDamage`. */
export async function* keptLines(path: string): AsyncGenerator<readonly string[]> {
  try {
    if ((await stat(path)).size === 0) return;
    for await (const lines of readLines(createReadStream(path))) {
      if (lines.some(({ problem }) => problem !== undefined)) throw new KeptDamage('a line is damaged');
      yield lines.map(({ text }) => text);
    }
  } catch (error) {
    throw error instanceof KeptDamage ? error : new KeptDamage('a file cannot be read', { cause: error });
  }
}

/** Throws `KeptDamage`. */
export async function* keptItems(path: string): AsyncGenerator<Item> {
  for await (const lines of keptLines(path)) for (const line of lines) yield itemOf(line);
}

function itemOf(line: string): Item {
  try {
    return readObject(line);
  } catch (error) {
    throw new KeptDamage('a record is damaged', { cause: error });
  }
}
