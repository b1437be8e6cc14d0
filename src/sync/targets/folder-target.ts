/** A copy in a folder of Parquet files. */
import { resolve } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import type { CopyTarget } from '../copy-target.ts';
import { CopyFolder } from './copy-folder.ts';
import { parquetTarget } from './parquet-target.ts';

/** Creates the folder if it does not exist. Throws `option-malformed` and `copy-refused`. */
export async function openFolderTarget(path: string): Promise<CopyTarget> {
  if (/^[a-z0-9]+:\/\//.test(path)) {
    throw new AppError(
      'option-malformed',
      'A copy in Parquet files is in a folder (--to parquet:FOLDER) or in a bucket (--to s3://BUCKET/PREFIX).',
    );
  }
  const absolute = resolve(path);
  if (/[*?[\]]/.test(absolute)) {
    throw new AppError(
      'option-malformed',
      'The path of the folder (--to) must not contain *, ?, [ or ], which are patterns in DuckDB.',
    );
  }
  const folder = await CopyFolder.open(absolute);
  return { ...parquetTarget(folder, 'folder'), close: async () => undefined };
}
