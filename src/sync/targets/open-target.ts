/** The targets of a sync, by their addresses. */
import { AppError } from '../../domain/app-error.ts';
import { refuseOtherThanFileAt } from '../../system/output-file.ts';
import type { CopyTarget } from '../copy-target.ts';
import { type CopyZone, VIEWS, zoneViews } from '../views.ts';
import type { LockOptions } from './bucket-lock.ts';

const FILE = 'the file of --to';

export interface CopyTargetOptions {
  /** Schema in PostgreSQL. */
  readonly schema: string;
  /** Role in PostgreSQL that gets the privilege to read the copy. */
  readonly grant?: string;
  /** For the local days and hours of events, in a database. */
  readonly zones?: readonly CopyZone[];
  /** Of a copy in a bucket. */
  readonly lock?: LockOptions;
}

/** Throws `option-malformed` for an unknown address, `copy-refused` and `copy-busy`. */
export async function openTarget(address: string, options: CopyTargetOptions): Promise<CopyTarget> {
  const { schema, grant, zones = [] } = options;
  const views = [...VIEWS, ...zoneViews(zones)];
  const [, scheme = '', path = ''] = /^([a-z0-9]+):(.+)$/s.exec(address) ?? [];
  if (grant !== undefined && !scheme.startsWith('postgres')) {
    throw new AppError(
      'option-malformed',
      'Only PostgreSQL has roles: leave --grant out, or use --to postgres://.',
    );
  }
  if (zones.length > 0 && ['parquet', 's3'].includes(scheme)) {
    throw new AppError(
      'option-malformed',
      'Only databases have views with local days: leave --zone out, or use --to duckdb:, sqlite: or postgres://.',
    );
  }
  switch (scheme) {
    case 'duckdb':
      await refuseOtherThanFileAt(FILE, path);
      return await (await import('./duckdb-target.ts')).openDuckdbTarget(path, views);
    case 'sqlite':
      await refuseOtherThanFileAt(FILE, path);
      return await (await import('./sqlite-target.ts')).openSqliteTarget(path, views);
    case 'postgres':
    case 'postgresql':
      return await (await import('./postgres-target.ts')).openPostgresTarget(address, schema, grant, views);
    case 'parquet':
      return await (await import('./folder-target.ts')).openFolderTarget(path);
    case 's3':
      return await (await import('./bucket-target.ts')).openBucketTarget(address, options.lock);
    default:
      // The address is not repeated: it may contain a password.
      throw new AppError(
        'option-malformed',
        'The target (--to) must be like duckdb:copy.duckdb, sqlite:copy.sqlite, postgres://user@host/database, parquet:folder or s3://bucket/prefix.',
      );
  }
}
