/** The statements that make the views of a copy, and how these differ from views of the user. */
import { createHash } from 'node:crypto';
import { AppError } from '../../domain/app-error.ts';
import { POINTS, TABLES } from '../tables.ts';
import type { CopyView, ViewDialect } from '../views.ts';
import { commentsOn, POINTS_COLUMN, quoted, STATE_TABLE } from './sql.ts';

/** In the comment of each view that a sync has made. */
const MADE = 'Made by corkboard sync';

/** A table or view that is in the target. */
export interface Relation {
  readonly name: string;
  /** Its comment; in SQLite its definition, which contains the comment. */
  readonly comment: string;
}

/**
 * Throws `copy-refused` if there are tables or views with the names of those of a copy that do not
 * belong to one: they would be emptied or replaced. `stateColumns`: those of the table with the
 * state, from which it follows which tables the copy has.
 */
export function refuseOthers(
  existing: readonly Relation[],
  stateColumns: readonly string[],
  views: readonly CopyView[],
): void {
  const isCopy = existing.some(({ name }) => name === STATE_TABLE);
  const added = stateColumns.includes(POINTS_COLUMN) ? [] : [POINTS];
  const table = (isCopy ? added : TABLES).find(({ name }) => existing.some((one) => one.name === name));
  if (table !== undefined) {
    throw new AppError(
      'copy-refused',
      `The target has a table or view "${table.name}" that does not belong to a copy. ${isCopy ? 'Rename yours.' : 'Use a different file or schema.'}`,
    );
  }
  const view = views.find(({ name }) =>
    existing.some((one) => one.name === name && !one.comment.includes(MADE)),
  );
  if (view === undefined) return;
  throw new AppError(
    'copy-refused',
    `The target has a table or view "${view.name}" that does not belong to a copy, which needs this name. Rename yours. If it is a view of corkboard whose comment was changed, drop it: the next run makes it again.`,
  );
}

/** The views that are missing, or were made from a different definition. */
export function viewsToMake(
  existing: readonly Relation[],
  dialect: ViewDialect,
  views: readonly CopyView[],
): readonly CopyView[] {
  return views.filter((view) => {
    const note = noteOf(view, dialect);
    return !existing.some(({ name, comment }) => name === view.name && comment.includes(note));
  });
}

/** Statements that make a view or replace it; its privileges stay. */
export function createView(view: CopyView, dialect: ViewDialect): string {
  const described = { ...view, note: noteOf(view, dialect) };
  return `CREATE OR REPLACE VIEW ${view.name} AS ${queryOf(view, dialect)}; ${commentsOn('VIEW', described)}`;
}

/** The query of a view. `commented`: with the notes of its columns. */
export function queryOf({ columns, from }: CopyView, dialect: ViewDialect, commented = false): string {
  const values = columns.map(({ name, note, value }) => {
    return `${value(dialect)} AS ${quoted(name)}${commented ? ` /* ${note} */` : ''}`;
  });
  return `SELECT ${values.join(commented ? ',\n' : ', ')} ${from(dialect)}`;
}

/** Ends with a digest of the definition, so that the view of an earlier version is recognized. */
export function noteOf(view: CopyView, dialect: ViewDialect): string {
  const definition = view.note + queryOf(view, dialect, true);
  const digest = createHash('sha256').update(definition).digest('hex').slice(0, 8);
  return `${view.note} ${MADE} (${digest}).`;
}
