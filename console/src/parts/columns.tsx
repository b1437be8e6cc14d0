/** Columns that several tables share. */
import type { Clock } from '../view/clock.ts';
import { formatDate, formatNumber } from '../view/format.ts';
import type { Column } from './data-table.tsx';
import { dateWidth } from './time-width.ts';

type Look<T> = Pick<Column<T>, 'width' | 'isMinor'>;

/** A column of numbers; an unknown number is a dash and sorts below all others. */
export function countColumn<T>(
  key: string,
  title: string,
  count: (row: T) => number | undefined,
  look: Look<T>,
): Column<T> {
  return {
    ...{ key, title, ...look, isNumber: true },
    sort: (row) => count(row) ?? -1,
    render: (row) => {
      const value = count(row);
      return value === undefined ? '–' : formatNumber(value);
    },
  };
}

/** A column with the day of the latest event. */
export function latestColumn<T>(clock: Clock, last: (row: T) => string | undefined): Column<T> {
  return {
    ...{ key: 'last', title: 'Last event', isNumber: true, isTime: true, isMinor: true },
    width: `max(8.5rem, ${dateWidth()})`,
    sort: (row) => Date.parse(last(row) ?? '1970'),
    render: (row) => {
      const timestamp = last(row);
      return timestamp === undefined ? '–' : formatDate(timestamp, clock);
    },
  };
}
