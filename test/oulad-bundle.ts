/**
 * The OULAD subset as a bundle for tests: complete in long runs, otherwise every sixteenth student
 * with their events.
 */
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { IS_LONG } from './long.ts';
import { folderOf } from './real-data.ts';

const SOURCE = folderOf('oulad');
/** Tutors have ids above 90 000 000 and are always taken. */
const ONE_IN = IS_LONG ? 1 : 16;
const isTaken = (user: string | undefined) => Number(user) % ONE_IN === 0 || Number(user) > 90_000_000;

export const OULAD_COUNTS = IS_LONG ? { events: 1_053_324, points: 4137 } : { events: 53_537, points: 235 };

/** Writes the bundle to a new folder, which the caller must remove. */
export async function makeOuladBundle(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-oulad-'));
  for (const name of ['boards.csv.gz', 'pins.csv.gz']) await copyFile(join(SOURCE, name), join(folder, name));
  for (const [name, column] of [
    ['users.csv.gz', 0],
    ['events.csv.gz', 4],
    ['points.csv.gz', 0],
  ] as const) {
    if (IS_LONG) {
      await copyFile(join(SOURCE, name), join(folder, name));
      continue;
    }
    const [header, ...lines] = readPacked(join(SOURCE, name)).split('\n');
    const taken = lines.filter((line) => line !== '' && isTaken(line.split(',', column + 1)[column]));
    await writeFile(join(folder, name), gzipSync([header, ...taken, ''].join('\n'), { level: 1 }));
  }
  return folder;
}

/** The text of a file of a bundle. */
export function readPacked(path: string): string {
  return gunzipSync(readFileSync(path)).toString('utf8');
}
