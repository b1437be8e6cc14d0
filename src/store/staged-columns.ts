/** The columns in which records are staged, derived from the description of their fields. */
import { fieldOf, RECORD_KINDS, type RecordKind, STAGED } from './staging.ts';

/** The value of a field: an integer, a text, or nothing. */
export type StagedCell = bigint | number | string | undefined;

export interface StagedColumn {
  readonly name: string;
  readonly type: 'BIGINT' | 'TEXT';
  cell(record: object): StagedCell;
}

function columnsOf(kind: RecordKind): readonly StagedColumn[] {
  return Object.entries(STAGED[kind]).map(([name, described]) => {
    const field = fieldOf(name);
    const type = described.replace('?', '');
    const isText = type === 'text' || type === 'list' || type === 'map';
    const cellOf = CELLS[type] ?? ((value) => value as StagedCell);
    const cell = (record: object) => cellOf(record[field as keyof typeof record]);
    return { name, type: isText ? 'TEXT' : 'BIGINT', cell };
  });
}

const asJson = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));

/** Conversions of the types whose values are not stored unchanged. */
const CELLS: Readonly<Record<string, (value: unknown) => StagedCell>> = {
  list: asJson,
  map: asJson,
  truth: (value) => (value === undefined ? undefined : 1),
};

export const STAGED_COLUMNS = Object.fromEntries(
  RECORD_KINDS.map((kind) => [kind, columnsOf(kind)]),
) as Readonly<Record<RecordKind, readonly StagedColumn[]>>;
