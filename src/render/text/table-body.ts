/** Tables of objects that are no records: CSV, written like `jsonAnswer`. */
import { escapeLineEnds } from '../../domain/json-text.ts';
import { type CheckBytes, textAnswer } from './json-body.ts';
import { renderTextCell, type TableNotation } from './notation.ts';
import type { RenderedBody } from './rendered-body.ts';
import { BYTE_ORDER_MARK } from './representations.ts';

export interface TableColumn {
  readonly name: string;
  /** The names of the members that lead to the value in an object. */
  readonly path: readonly string[];
}

/**
 * A row for each object. The cell is empty if a member on the path to the value is null. A list is
 * a JSON array in one cell. `checkBytes` can refuse a response that becomes too large.
 */
export async function tableAnswer(
  notation: TableNotation,
  columns: readonly TableColumn[],
  objects: Iterable<object>,
  checkBytes?: CheckBytes,
): Promise<RenderedBody> {
  return await textAnswer(linesOf(notation, columns, objects), checkBytes);
}

function* linesOf(
  notation: TableNotation,
  columns: readonly TableColumn[],
  objects: Iterable<object>,
): Generator<string, void> {
  yield `${notation === 'excel' ? BYTE_ORDER_MARK : ''}${columns.map(({ name }) => name).join()}\r\n`;
  for (const object of objects) {
    yield `${columns.map(({ path }) => renderValue(notation, valueAt(object, path))).join()}\r\n`;
  }
}

function valueAt(object: object, path: readonly string[]): unknown {
  let value: unknown = object;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return null;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function renderValue(notation: TableNotation, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return renderTextCell(notation, value);
  if (!Array.isArray(value)) return String(value);
  return renderTextCell(notation, escapeLineEnds(JSON.stringify(value)));
}
