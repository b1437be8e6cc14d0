/** Writing a DuckDB file anew, so that nothing is left in it of rows that were deleted. */
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { literal, openScratchDatabase } from '../parquet/scratch-database.ts';

/** Only what is in tables is kept, in its order. The file must not be open. */
export async function compact(file: string): Promise<void> {
  const fresh = `${file}.compact`;
  {
    // Beside the two files DuckDB makes others for a while.
    using database = await openScratchDatabase([], [dirname(file)]);
    await database.connection.run(`
      ATTACH ${literal(file)} AS worn (READ_ONLY);
      ATTACH ${literal(fresh)} AS fresh;
      COPY FROM DATABASE worn TO fresh;
      CHECKPOINT fresh;
      DETACH fresh;
      DETACH worn;`);
  }
  await rename(fresh, file);
  await rm(`${file}.wal`, { force: true });
}
