/** Finds out whether a different program, such as DuckDB's command line, has a version open. */
import { Database } from '../database.ts';

const MEMORY_BYTES = 64e6;

/** DuckDB locks the files that it has open. Readers in this process are not noticed. */
export async function isOpenElsewhere(path: string): Promise<boolean> {
  const options = { readOnly: false, memoryBytes: MEMORY_BYTES, spillFolder: `${path}.tmp` };
  try {
    (await Database.open(path, options)).close();
    return false;
  } catch {
    return true;
  }
}
