/** Rewrites a DuckDB file, so that it contains no remains of deleted rows. */
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { literal } from '../../../domain/sql-literal.ts';
import { openScratchDatabase } from '../parquet/scratch-database.ts';

/** Keeps tables, in the order of their rows, and views. The file must not be open. */
export async function compact(file: string): Promise<void> {
  const fresh = `${file}.compact`;
  {
    // DuckDB temporarily creates other files beside these two.
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
