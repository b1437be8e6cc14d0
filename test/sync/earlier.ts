/** Copies as versions made them that did not copy points. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestObjects } from '../s3/objects.ts';
import type { CopyPlace, DatabasePlace } from './copies.ts';

const STATE = 'corkboard_sync.json';

/** Turns a copy into an earlier one. */
export async function withoutPoints(place: CopyPlace): Promise<void> {
  if (isDatabase(place)) {
    await place.run('DROP TABLE points; ALTER TABLE corkboard_sync DROP COLUMN points_tag;');
    return;
  }
  const files = filesOf(place);
  await files.delete('points.parquet');
  const { lists, points_tag, ...others } = JSON.parse(`${await files.get(STATE)}`);
  await files.put(STATE, JSON.stringify(others));
}

export function isDatabase(place: CopyPlace): place is DatabasePlace {
  return 'run' in place;
}

/** The files of a copy in Parquet files, in a folder or a bucket. */
export function filesOf(place: CopyPlace & { readonly objects?: TestObjects }) {
  const { address, objects } = place;
  if (objects !== undefined) return objects;
  const pathOf = (name: string) => join(address.replace(/^parquet:/, ''), name);
  return {
    get: (name: string) => readFile(pathOf(name)),
    put: (name: string, content: string) => writeFile(pathOf(name), content),
    delete: (name: string) => rm(pathOf(name)),
  };
}
