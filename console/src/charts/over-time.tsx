/** Series over periods: as stacked bars, as a table, and as a sparkline for a row of a table. */
import { type Column, DataTable } from '../parts/data-table.tsx';
import { periodWidth } from '../parts/time-width.ts';
import { type Clock, UTC } from '../view/clock.ts';
import { formatNumber, formatPeriod } from '../view/format.ts';
import { Legend, Plot, type PlotScales, type Series } from './plot.tsx';

interface OverTime {
  readonly periods: readonly string[];
  readonly interval: string;
  readonly clock: Clock;
  readonly series: readonly Series[];
}

export function StackedBars({
  name,
  height,
  ...data
}: OverTime & { readonly name: string; readonly height?: number }) {
  const { periods, series } = data;
  const sums = periods.map((_, period) => sumOf(series, period));
  return (
    <>
      {series.length > 1 && <Legend series={series} />}
      <Plot name={name} most={Math.max(0, ...sums)} {...data} {...(height !== undefined && { height })}>
        {(scales) =>
          series.map(({ name: key, color }, place) => (
            <path key={key} className={`bar color-${color}`} d={barsOf(series, place, scales)} />
          ))
        }
      </Plot>
    </>
  );
}

const BLANK_PERIOD = '2026-01-01T00:00:00.000Z';

/** Placeholder of a chart while it loads, without bars; `names` are the entries of its legend. */
export function BlankBars({
  names,
  height,
}: {
  readonly names: readonly string[];
  readonly height?: number;
}) {
  const series = names.map((name) => ({ name, color: 0, values: [0] }));
  return (
    <StackedBars
      {...{ name: 'Loading', periods: [BLANK_PERIOD], interval: 'day', clock: UTC, series }}
      {...(height !== undefined && { height })}
    />
  );
}

function sumOf(series: readonly Series[], period: number): number {
  return series.reduce((sum, { values }) => sum + (values[period] ?? 0), 0);
}

/** All bars of one series as one path, on top of the bars of the previous series. */
function barsOf(series: readonly Series[], place: number, { x, y, bandWidth }: PlotScales): string {
  const below = series.slice(0, place);
  const width = Math.max(1, bandWidth);
  return (series[place]?.values ?? [])
    .map((value, period) => {
      if (value === 0) return '';
      const foot = sumOf(below, period);
      return `M${x(period)} ${y(foot)}V${y(foot + value)}h${width}V${y(foot)}z`;
    })
    .join('');
}

/** Least width of a column of a series, in rem. */
const SERIES_REM = 6;

export function PeriodTable({
  caption,
  periods,
  interval,
  clock,
  series,
}: OverTime & { readonly caption: string }) {
  const width = periodWidth(interval);
  const columns: Column<number>[] = [
    {
      ...{ key: 'period', title: 'Period', width, isTime: true, sort: (period) => period },
      render: (period) => formatPeriod(periods[period] ?? '', interval, clock, 'long'),
    },
    ...series.map(({ name, values }) => ({
      ...{ key: name, title: name, isNumber: true, sort: (period: number) => values[period] ?? 0 },
      render: (period: number) => formatNumber(values[period] ?? 0),
    })),
  ];
  return (
    <DataTable
      caption={caption}
      minWidth={`calc(${width} + ${series.length * SERIES_REM}rem)`}
      columns={columns}
      rows={[...periods.keys()]}
      rowKey={String}
    />
  );
}

/** A line chart with the height of a line of text. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const most = Math.max(1, ...values);
  const step = 100 / Math.max(1, values.length - 1);
  const points = values.map(
    (value, at) => `${(at * step).toFixed(2)},${(22 - (20 * value) / most).toFixed(2)}`,
  );
  return (
    <svg className="sparkline" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <polygon points={`0,24 ${points.join(' ')} 100,24`} />
      <polyline points={points.join(' ')} />
    </svg>
  );
}
