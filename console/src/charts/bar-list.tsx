/** A list of names with bars; the largest value has the longest bar. */
import type { ReactNode } from 'react';
import { formatNumber } from '../view/format.ts';

export interface BarItem {
  readonly key: string;
  readonly name: ReactNode;
  readonly value: number;
  readonly note?: ReactNode;
  /** Index in the palette; if absent, the accent color is used. */
  readonly color?: number;
}

/** Placeholder of a list with `rows` rows while it loads. */
export function BlankBarList({
  rows,
  hasNotes = false,
}: {
  readonly rows: number;
  readonly hasNotes?: boolean;
}) {
  const items = Array.from({ length: rows }, (_, row) => ({
    ...{ key: String(row), name: 'Loading', value: 1 },
    ...(hasNotes && { note: 'Loading' }),
  }));
  return <BarList items={items} />;
}

export function BarList({ items }: { readonly items: readonly BarItem[] }) {
  const most = Math.max(1, ...items.map(({ value }) => value));
  return (
    <ol className="bar-list">
      {items.map(({ key, name, value, note, color }) => (
        <li key={key}>
          <div className="bar-list-text">
            <span className="bar-list-name">{name}</span>
            {note !== undefined && <span className="bar-list-note">{note}</span>}
            <span className="bar-list-value">{formatNumber(value)}</span>
          </div>
          <div className="bar-list-track" aria-hidden="true">
            <span className={`color-${color ?? 1}`} style={{ width: `${(100 * value) / most}%` }} />
          </div>
        </li>
      ))}
    </ol>
  );
}
