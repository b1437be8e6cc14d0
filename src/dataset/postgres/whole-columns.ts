/** Answers that are small enough to be held as a whole, as columns. */
import type { Columns, ColumnType } from './binary-copy.ts';
import type { Asking } from './database.ts';

/** As `Asking.columns`, in one piece. */
export async function wholeColumns<const T extends readonly ColumnType[]>(
  database: Asking,
  sql: string,
  types: T,
): Promise<Columns<T>> {
  const parts: Columns<T>[] = [];
  for await (const part of database.columns(sql, types)) parts.push(part);
  const columns = types.map((type, place) =>
    joined(
      type,
      parts.map((part) => part.columns[place]!),
    ),
  );
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    columns: columns as unknown as Columns<T>['columns'],
  };
}

type Column = Int32Array | BigInt64Array | Float64Array | string[];

function joined(type: ColumnType, parts: readonly Column[]): Column {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  switch (type) {
    case 'text':
      return parts.flatMap((part) => part as string[]);
    case 'int4':
      return filled(new Int32Array(length), parts as Int32Array[]);
    case 'int8':
      return filled(new BigInt64Array(length), parts as BigInt64Array[]);
    case 'float8':
      return filled(new Float64Array(length), parts as Float64Array[]);
  }
}

interface Numbers<Self> {
  readonly length: number;
  set(values: Self, at: number): void;
}

function filled<C extends Numbers<C>>(whole: C, parts: readonly C[]): C {
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
