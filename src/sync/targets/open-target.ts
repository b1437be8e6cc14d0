/** The targets of a sync, by their addresses. */
import { AppError } from '../../domain/app-error.ts';
import type { CopyTarget } from '../copy-target.ts';

export interface CopyTargetOptions {
  /** Schema in PostgreSQL. */
  readonly schema: string;
}

/** Throws `option-malformed` for an unknown address, and `copy-refused`. */
export async function openTarget(address: string, { schema }: CopyTargetOptions): Promise<CopyTarget> {
  const [, scheme = '', path = ''] = /^([a-z]+):(.+)$/s.exec(address) ?? [];
  switch (scheme) {
    case 'duckdb':
      return await (await import('./duckdb-target.ts')).openDuckdbTarget(path);
    case 'sqlite':
      return await (await import('./sqlite-target.ts')).openSqliteTarget(path);
    case 'postgres':
    case 'postgresql':
      return await (await import('./postgres-target.ts')).openPostgresTarget(address, schema);
    default:
      // The address is not repeated: it may contain a password.
      throw new AppError(
        'option-malformed',
        'The target (--to) must be like duckdb:copy.duckdb, sqlite:copy.sqlite or postgres://user@host/database.',
      );
  }
}
