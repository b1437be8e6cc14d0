/** Copies as versions made them that did not copy points. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CopyPlace, DatabasePlace } from './copies.ts';

/** Turns a copy into an earlier one. */
export async function withoutPoints(place: CopyPlace): Promise<void> {
  if (isDatabase(place)) {
    await place.run('DROP TABLE points; ALTER TABLE corkboard_sync DROP COLUMN points_tag;');
    return;
  }
  rmSync(join(pathOf(place), 'points.parquet'));
  const state = join(pathOf(place), 'corkboard_sync.json');
  const { lists, points_tag, ...others } = JSON.parse(readFileSync(state, 'utf8'));
  writeFileSync(state, JSON.stringify(others));
}

export function isDatabase(place: CopyPlace): place is DatabasePlace {
  return 'run' in place;
}

/** The folder of a copy in Parquet files. */
export function pathOf({ address }: CopyPlace): string {
  return address.replace(/^parquet:/, '');
}
