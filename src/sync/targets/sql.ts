/** The statements that all targets share. Their names never need escaping within quotes. */
import { AppError } from '../../domain/app-error.ts';
import { literal } from '../../domain/sql-literal.ts';
import type { CopyState } from '../copy-target.ts';
import type { ColumnType, CopyTable } from '../tables.ts';

/** Names of the SQL types of a target. */
export type ColumnTypes = Readonly<Record<ColumnType, string>>;

/** The columns of the one row with the state of the copy; all are texts. */
export const STATE_COLUMNS = ['source', 'token', 'users_tag', 'boards_tag', 'points_tag'] as const;
/** Copies from before the table of points lack it. */
export const POINTS_COLUMN: (typeof STATE_COLUMNS)[number] = 'points_tag';
export const STATE_TABLE = 'corkboard_sync';
export const SELECT_STATE = `SELECT ${STATE_COLUMNS.join(', ')} FROM ${STATE_TABLE}`;

/**
 * With the reason of the database: `copy-busy` if a different process has locked it, otherwise
 * `copy-refused`.
 */
export function refusedBy(what: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (isLocked(error)) {
    return new AppError('copy-busy', `${what}: a different program is using it (${reason}).`, {
      cause: error,
    });
  }
  return new AppError('copy-refused', `${what} (${reason}).`, { cause: error });
}

const SQLITE_BUSY = 5;

/** Whether a database failed because a different process has locked it. */
export function isLocked(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('errcode' in error) return error.errcode === SQLITE_BUSY;
  return /Could not set lock on file/.test(error.message);
}

export function quoted(name: string): string {
  return `"${name}"`;
}

export function namesOf({ columns }: CopyTable): string {
  return columns.map(({ name }) => quoted(name)).join(', ');
}

/** The type of a column of the table. */
export function typeOf({ columns }: CopyTable, name: string): ColumnType {
  return columns.find((column) => column.name === name)?.type ?? 'text';
}

interface CommentedRelation {
  readonly name: string;
  readonly note: string;
  readonly columns: readonly { readonly name: string; readonly note: string }[];
}

/** Statements that describe a table or view and its columns. */
export function commentsOn(kind: 'TABLE' | 'VIEW', { name, note, columns }: CommentedRelation): string {
  const comments = columns.map(
    (column) => `COMMENT ON COLUMN ${name}.${quoted(column.name)} IS ${literal(column.note)};`,
  );
  return `COMMENT ON ${kind} ${name} IS ${literal(note)}; ${comments.join(' ')}`;
}

/** The columns of the key, as in a definition. */
export function keyNames({ key }: CopyTable): string {
  return key.map(quoted).join(', ');
}

/** Statements that make the indexes of a table. */
export function indexesOf({ name, indexed }: CopyTable): string {
  return indexed
    .map((column) => `CREATE INDEX IF NOT EXISTS ${name}_${column} ON ${name} (${quoted(column)});`)
    .join(' ');
}

/** Name and type of each column. */
export function columnsOf({ columns }: CopyTable, types: ColumnTypes): string[] {
  return columns.map(({ name, type }) => `${quoted(name)} ${types[type]}`);
}

export function stateValues({ source, token, usersTag, boardsTag, pointsTag }: CopyState): (string | null)[] {
  return [source, token, usersTag ?? null, boardsTag ?? null, pointsTag ?? null];
}

/** `row`: the values of `SELECT_STATE`. */
export function stateOf(row: readonly unknown[] | undefined): CopyState | undefined {
  const [source, token, usersTag, boardsTag, pointsTag] = row ?? [];
  if (typeof source !== 'string' || typeof token !== 'string') return undefined;
  const tags = { usersTag: textOf(usersTag), boardsTag: textOf(boardsTag), pointsTag: textOf(pointsTag) };
  return { source, token, ...tags };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
