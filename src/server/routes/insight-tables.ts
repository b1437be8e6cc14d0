/**
 * The insights that are tables, as CSV (decision 93): the columns of each, made from the schema of
 * the objects of which a row is made. The members of nested objects become columns with a prefix.
 */
import { type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { type CheckBytes, jsonAnswer } from '../../render/text/json-body.ts';
import type { RenderedBody } from '../../render/text/rendered-body.ts';
import { type TableColumn, tableAnswer } from '../../render/text/table-body.ts';
import type { ParameterName } from '../request/parameters.ts';
import type { Ask } from '../request/route.ts';
import {
  ActivityItem,
  AttentionItem,
  HeatMapItem,
  InteractionItem,
  LedgerLine,
  RankedBoard,
  RankedPin,
  RankedUser,
  ReturningItem,
} from './insight-schemas.ts';
import { listCell } from './row-schemas.ts';

export interface InsightTable {
  /** The name of the schema of a row. */
  readonly title: string;
  readonly columns: readonly TableColumn[];
  /** The columns as a schema, in order. Those that can be empty are optional. */
  readonly row: TObject;
}

export const INSIGHT_TABLES = {
  activity: tableOf('ActivityRow', ActivityItem),
  returning: tableOf('ReturningRow', ReturningItem),
  heatMap: tableOf('HeatMapRow', HeatMapItem),
  boards: tableOf('RankedBoardRow', RankedBoard),
  users: tableOf('RankedUserRow', RankedUser),
  pins: tableOf('RankedPinRow', RankedPin),
  attention: tableOf('AttentionRow', AttentionItem),
  interactions: tableOf('InteractionRow', InteractionItem),
  ledger: tableOf('LedgerRow', LedgerLine),
} satisfies Readonly<Record<string, InsightTable>>;

/** The parameters with which clients select CSV. */
export const TABLE_PARAMETERS: readonly ParameterName[] = ['format', 'excel'];

/** The part of a route that is the same for all tables. */
export function asTable({ row }: InsightTable) {
  return {
    representations: ['json', 'csv'],
    items: { csv: row },
    // The first of these insights had only JSON, and their tags must stay the same.
    untagged: TABLE_PARAMETERS,
  } as const;
}

interface TableContent {
  readonly rows: () => Iterable<object>;
  readonly whole: () => unknown;
  /** Refuses CSV that becomes too large. */
  readonly checkBytes?: CheckBytes;
}

/** The rows, if CSV is asked for; otherwise `whole` as JSON. Only one of the two is made. */
export async function answerTable(
  { representation }: Ask,
  { columns }: InsightTable,
  { rows, whole, checkBytes }: TableContent,
): Promise<RenderedBody> {
  return representation === 'csv' || representation === 'excel'
    ? await tableAnswer(representation, columns, rows(), checkBytes)
    : await jsonAnswer(whole());
}

function tableOf(title: string, { properties }: TObject): InsightTable {
  const columns = columnsOf(properties, [], false);
  return {
    title,
    columns,
    row: Type.Object(Object.fromEntries(columns.map(({ name, schema }) => [name, schema])), {
      title,
      description: 'The columns of a row in CSV, in this order. Without a value, a cell is empty.',
    }),
  };
}

interface DescribedColumn extends TableColumn {
  readonly schema: TSchema;
}

function columnsOf(properties: TProperties, path: readonly string[], isOptional: boolean): DescribedColumn[] {
  return Object.entries(properties).flatMap(([member, schema]) => {
    const at = [...path, member];
    const [value, canBeNull] = withoutNull(schema);
    if (Type.IsObject(value)) return columnsOf(value.properties, at, isOptional || canBeNull);
    const cell = Type.IsArray(value) ? listCell(value) : value;
    return [{ name: at.join('_'), path: at, schema: isOptional || canBeNull ? Type.Optional(cell) : cell }];
  });
}

function withoutNull(schema: TSchema): readonly [TSchema, canBeNull: boolean] {
  if (!Type.IsUnion(schema)) return [schema, false];
  const [value] = schema.anyOf.filter((one) => !Type.IsNull(one));
  if (value === undefined || schema.anyOf.length !== 2) throw new Error('A column has one type.');
  return [value, true];
}
