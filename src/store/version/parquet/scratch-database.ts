/**
 * A separate in-memory DuckDB for reading or writing whole files. It can open only the given files.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { literal } from '../../../domain/sql-literal.ts';

const MEMORY_LIMIT = '512MB';

/**
 * The caller disposes of it. DuckDB treats paths as patterns: no path may contain `*`, `?` or `[`.
 * It can open every file in `folders`. `settings` are additional settings of DuckDB.
 */
export async function openScratchDatabase(
  paths: readonly string[],
  folders: readonly string[] = [],
  settings: Readonly<Record<string, string>> = {},
): Promise<{ readonly connection: DuckDBConnection } & Disposable> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: MEMORY_LIMIT,
    threads: '1',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    ...settings,
  });
  const connection = await instance.connect();
  const database = {
    connection,
    [Symbol.dispose]() {
      connection.closeSync();
      instance.closeSync();
    },
  };
  try {
    await connection.run(`SET allowed_paths = [${paths.map(literal).join(', ')}]`);
    await connection.run(`SET allowed_directories = [${folders.map(literal).join(', ')}]`);
    await connection.run('SET enable_external_access = false');
    return database;
  } catch (error) {
    database[Symbol.dispose]();
    throw error;
  }
}
