/** The places for chunks, by their addresses. This is the only list of them. */
import { isAbsolute } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { parseBucketAddress } from './bucket-address.ts';
import type { ChunkPlace } from './chunk-place.ts';
import { openChunkFolder } from './folder.ts';
import { type ChunkDatabase, openChunkTable } from './postgres-table.ts';

/** The address of the database of the catalog. */
export const IN_DATABASE = '';

interface Kind {
  readonly isMeant: (address: string) => boolean;
  /** Throws `option-malformed`. */
  readonly check?: (address: string) => unknown;
  readonly open: (address: string, database: ChunkDatabase) => Promise<ChunkPlace>;
}

const KINDS: readonly Kind[] = [
  {
    isMeant: (address) => address === IN_DATABASE,
    open: async (_, database) => openChunkTable(database),
  },
  {
    isMeant: (address) => address.startsWith('s3:'),
    check: parseBucketAddress,
    async open(address) {
      // Imported on demand, because the driver is slow to load.
      const { openS3Bucket } = await import('./s3-bucket.ts');
      return openS3Bucket(parseBucketAddress(address));
    },
  },
  { isMeant: isAbsolute, open: async (address) => openChunkFolder(address) },
];

/** Throws `option-malformed` for an invalid address. */
export function checkPlaceAddress(address: string): void {
  kindOf(address).check?.(address);
}

export async function openPlace(address: string, database: ChunkDatabase): Promise<ChunkPlace> {
  return await kindOf(address).open(address, database);
}

function kindOf(address: string): Kind {
  const kind = KINDS.find(({ isMeant }) => isMeant(address));
  if (kind !== undefined) return kind;
  throw new AppError(
    'option-malformed',
    'Chunks can be stored in a bucket (s3://bucket/prefix), a folder, or "database".',
  );
}
