/**
 * A table of any length: it renders only visible rows, sorts by its headings, and can request more
 * rows near its end.
 */
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly render: (row: T) => ReactNode;
  /** The value to sort by. If absent, the column cannot be sorted. */
  readonly sort?: (row: T) => string | number;
  readonly isNumber?: boolean;
  /** A column of times; its width must fit them. */
  readonly isTime?: boolean;
  /** In CSS. If absent, the column gets an equal share of the remaining width. */
  readonly width?: string;
  /** Hidden on narrow screens. */
  readonly isMinor?: boolean;
}

interface Sorting {
  readonly key: string;
  readonly isDown: boolean;
}

const ROW_HEIGHT = 44;
const AHEAD = 10;
const NEAR_END = 30;

export function DataTable<T>({
  caption,
  columns,
  rows,
  rowKey,
  initialSort,
  onNearEnd,
  total,
  minWidth,
}: {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T, index: number) => string;
  readonly initialSort?: Sorting;
  readonly onNearEnd?: (() => void) | undefined;
  /** Number of all rows, if not all are loaded yet. */
  readonly total?: number | undefined;
  /** In CSS. If there is less room, the table scrolls horizontally. */
  readonly minWidth?: string;
}) {
  const [sorting, setSorting] = useState<Sorting | undefined>(initialSort);
  const sorted = useMemo(() => sortRows(rows, columns, sorting), [rows, columns, sorting]);
  const frame = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: AHEAD,
    initialRect: { width: 800, height: 560 },
  });
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= sorted.length - NEAR_END) onNearEnd?.();
  }, [last, sorted.length, onNearEnd]);
  const before = items[0]?.start ?? 0;
  const after = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);

  return (
    // biome-ignore lint/a11y/useSemanticElements: a landmark for each table would be too many
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard
    <div className="table-frame" ref={frame} role="group" tabIndex={0} aria-label={caption}>
      <table
        className="table"
        style={minWidth === undefined ? undefined : { minWidth }}
        aria-rowcount={(total ?? sorted.length) + 1}
      >
        <colgroup>
          {columns.map(({ key, width, isMinor }) => (
            <col
              key={key}
              className={isMinor ? 'is-minor' : undefined}
              style={width ? { width } : undefined}
            />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Heading key={column.key} column={column} sorting={sorting} onSort={setSorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <Gap height={before} />}
          {items.map(({ index }) => {
            const row = sorted[index];
            return row === undefined ? null : (
              <tr key={rowKey(row, index)} aria-rowindex={index + 2}>
                {columns.map((column) => (
                  <td key={column.key} className={classOf(column)}>
                    {column.render(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && <Gap height={after} />}
        </tbody>
      </table>
    </div>
  );
}

function Gap({ height }: { readonly height: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row cannot be focused
    <tr aria-hidden="true" className="table-gap">
      <td style={{ height }} />
    </tr>
  );
}

function Heading<T>({
  column,
  sorting,
  onSort,
}: {
  readonly column: Column<T>;
  readonly sorting: Sorting | undefined;
  readonly onSort: (sorting: Sorting) => void;
}) {
  const { key, title, sort, isNumber = false } = column;
  const isSorted = sorting?.key === key;
  if (sort === undefined) {
    return (
      <th scope="col" className={classOf(column)}>
        {title}
      </th>
    );
  }
  const direction = sorting?.isDown ? 'descending' : 'ascending';
  return (
    <th scope="col" className={classOf(column)} aria-sort={isSorted ? direction : 'none'}>
      <button
        type="button"
        className="table-sort"
        onClick={() => onSort({ key, isDown: isSorted ? !sorting.isDown : isNumber })}
      >
        {title}
        <span aria-hidden="true" className="table-arrow">
          {isSorted && (sorting.isDown ? '↓' : '↑')}
        </span>
      </button>
    </th>
  );
}

function classOf<T>({ isNumber, isTime, isMinor }: Column<T>): string | undefined {
  const names = [isNumber && 'is-number', isTime && 'is-time', isMinor && 'is-minor'].filter(Boolean);
  return names.length === 0 ? undefined : names.join(' ');
}

function sortRows<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  sorting: Sorting | undefined,
): readonly T[] {
  const by = columns.find(({ key }) => key === sorting?.key)?.sort;
  if (by === undefined || sorting === undefined) return rows;
  const sign = sorting.isDown ? -1 : 1;
  const collator = new Intl.Collator(undefined, { numeric: true });
  return rows.toSorted((one, other) => {
    const [first, second] = [by(one), by(other)];
    const order =
      typeof first === 'number' && typeof second === 'number'
        ? first - second
        : collator.compare(String(first), String(second));
    return sign * order;
  });
}
