/**
 * Moves the chunks of a shared store to a different place: from the database into a bucket or a
 * folder, or back. One organization after the other; servers keep running, and imports of the
 * organization wait.
 */

import type { PostgresCatalog, Sharing } from '../catalog/postgres-catalog.ts';
import type { ChunkPlace } from '../chunks/chunk-place.ts';
import { chunkName, decodeManifest } from '../chunks/manifest.ts';
import { moveChunks } from '../chunks/transfer.ts';
import type { PublicationOptions } from '../store.ts';
import type { OpenPlace } from './shared-files.ts';

export interface MoveOptions extends PublicationOptions {
  /** Called after each chunk of an organization. */
  readonly onChunks: (organization: string, done: number, total: number) => void;
}

/**
 * Moves the chunks of all organizations to `address`; new organizations store theirs there, too.
 * Returns the names of the moved organizations. An interrupted move can be continued by calling
 * this again. Throws `organization-busy`, and the errors of the places.
 */
export async function moveToPlace(
  catalog: PostgresCatalog,
  openPlace: OpenPlace,
  address: string,
  options: MoveOptions,
): Promise<readonly string[]> {
  const target = await openPlace(address);
  try {
    // Checks that the place works before the catalog refers to it.
    for await (const _ of target.list('probe/')) break;
    await catalog.setPlace(address);
    const moved: string[] = [];
    for (const { name } of await catalog.all()) {
      if (await moveOne(catalog, openPlace, { name, address, target }, options)) moved.push(name);
    }
    return moved;
  } finally {
    await target.close();
  }
}

interface ChunkMove {
  readonly name: string;
  readonly address: string;
  readonly target: ChunkPlace;
}

async function moveOne(
  catalog: PostgresCatalog,
  openPlace: OpenPlace,
  { name, address, target }: ChunkMove,
  options: MoveOptions,
): Promise<boolean> {
  const lease = await catalog.lease((await catalog.sharing(name)).organization, options);
  try {
    const sharing = await catalog.sharing(name);
    if (sharing.place === address) return false;
    const source = await openPlace(sharing.place);
    try {
      const names = await neededChunks(catalog, sharing);
      await moveChunks(names, {
        source,
        target,
        onChunk: (done) => options.onChunks(name, done, names.length),
      });
      await catalog.setPlaceOf(lease, address, names);
      // Servers that are about to read from there find that the place has changed.
      for await (const spare of source.list(`${sharing.folder}/`)) await source.delete(spare);
    } finally {
      await source.close();
    }
    return true;
  } finally {
    await lease.release();
  }
}

async function neededChunks(
  catalog: PostgresCatalog,
  { organization, folder }: Sharing,
): Promise<readonly string[]> {
  const kept = await catalog.kept(organization);
  const names = kept.flatMap(({ manifest }) =>
    decodeManifest(manifest).chunks.map((chunk) => chunkName(folder, chunk)),
  );
  return [...new Set(names)];
}
