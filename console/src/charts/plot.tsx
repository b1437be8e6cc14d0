/**
 * The common parts of charts over periods: axes, and the selection of a period by pointer or
 * keyboard with its values.
 */
import { AxisBottom, AxisLeft } from '@visx/axis';
import { GridRows } from '@visx/grid';
import { scaleBand, scaleLinear } from '@visx/scale';
import { type PointerEvent, type ReactNode, useState } from 'react';
import type { Clock } from '../view/clock.ts';
import { formatCompact, formatNumber, formatPeriod } from '../view/format.ts';
import { useFrameWidth } from './use-frame-width.ts';

export interface Series {
  readonly name: string;
  /** Index in the palette, from 1 to 8; 0 is grey. */
  readonly color: number;
  readonly values: readonly number[];
}

export interface PlotScales {
  readonly x: (period: number) => number;
  readonly y: (value: number) => number;
  readonly bandWidth: number;
  readonly height: number;
}

const MARGIN = { top: 8, right: 4, bottom: 28, left: 44 };
const LABEL_WIDTH = 84;
/** A label begins at its period; with less room than this it would cross the edge. */
const LABEL_ROOM = 56;
const WIDEST_BAR = 56;
const ROW_TICKS = 4;

export function Plot({
  name,
  periods,
  interval,
  clock,
  series,
  most,
  height = 260,
  children,
}: {
  readonly name: string;
  readonly periods: readonly string[];
  readonly interval: string;
  readonly clock: Clock;
  readonly series: readonly Series[];
  /** The largest value on the axis. */
  readonly most: number;
  readonly height?: number;
  readonly children: (scales: PlotScales) => ReactNode;
}) {
  const { parentRef, width } = useFrameWidth(50);
  const [active, setActive] = useState<number>();
  const inner = {
    width: Math.max(0, width - MARGIN.left - MARGIN.right),
    height: height - MARGIN.top - MARGIN.bottom,
  };
  const x = scaleBand({ domain: [...periods.keys()], range: [0, inner.width], paddingInner: 0.2 });
  const barWidth = Math.min(x.bandwidth(), WIDEST_BAR);
  const y = scaleLinear({ domain: [0, Math.max(1, most)], range: [inner.height, 0], nice: ROW_TICKS });
  const every = Math.max(1, Math.ceil(periods.length / Math.max(1, Math.floor(inner.width / LABEL_WIDTH))));
  const hasRoom = (period: number) =>
    period === 0 || (x(period) ?? 0) + x.bandwidth() / 2 + LABEL_ROOM <= width - MARGIN.left;
  const ticks = [...periods.keys()].filter((period) => period % every === 0 && hasRoom(period));
  const title = (period: number) => formatPeriod(periods[period] ?? '', interval, clock, 'long');
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const at = event.clientX - event.currentTarget.getBoundingClientRect().left - MARGIN.left;
    const period = Math.floor(at / x.step());
    setActive(period >= 0 && period < periods.length ? period : undefined);
  };

  return (
    <div className="plot" ref={parentRef} style={{ height }}>
      {width > 0 && (
        <svg
          width={width}
          height={height}
          aria-hidden="true"
          onPointerMove={point}
          onPointerLeave={() => setActive(undefined)}
        >
          <g transform={`translate(${MARGIN.left} ${MARGIN.top})`}>
            <GridRows scale={y} width={inner.width} numTicks={ROW_TICKS} className="grid-rows" stroke="" />
            {active !== undefined && (
              <rect className="plot-band" x={x(active) ?? 0} width={x.bandwidth()} height={inner.height} />
            )}
            {children({
              x: (period) => (x(period) ?? 0) + (x.bandwidth() - barWidth) / 2,
              y,
              bandWidth: barWidth,
              height: inner.height,
            })}
            <AxisLeft
              scale={y}
              numTicks={ROW_TICKS}
              hideAxisLine
              hideTicks
              tickFormat={(value) => (Number.isInteger(Number(value)) ? formatCompact(Number(value)) : '')}
              tickClassName="axis-tick"
              tickLabelProps={LEFT_LABEL}
            />
            <AxisBottom
              scale={x}
              top={inner.height}
              tickValues={ticks}
              hideTicks
              tickFormat={(period) => formatPeriod(periods[period] ?? '', interval, clock, 'short')}
              axisLineClassName="axis-line"
              tickClassName="axis-tick"
              tickLabelProps={BOTTOM_LABEL}
            />
          </g>
        </svg>
      )}
      <PeriodSlider
        name={name}
        count={periods.length}
        active={active}
        onChange={setActive}
        say={(period) => sayPeriod(title(period), series, period)}
      />
      {active !== undefined && active < periods.length && (
        <Tip
          left={MARGIN.left + (x(active) ?? 0) + x.bandwidth() / 2}
          width={width}
          title={title(active)}
          series={series}
          period={active}
        />
      )}
    </div>
  );
}

const LEFT_LABEL = { textAnchor: 'end', dx: '-0.5em', dy: '0.32em', fontSize: 12, fill: '' } as const;
const BOTTOM_LABEL = { textAnchor: 'start', dy: '0.4em', fontSize: 12, fill: '' } as const;

/** A slider that selects periods with the arrow keys; screen readers announce each period. */
function PeriodSlider({
  name,
  count,
  active,
  onChange,
  say,
}: {
  readonly name: string;
  readonly count: number;
  readonly active: number | undefined;
  readonly onChange: (period: number | undefined) => void;
  readonly say: (period: number) => string;
}) {
  const value = Math.min(active ?? 0, count - 1);
  return (
    <input
      type="range"
      className="plot-slider"
      aria-label={`${name}: selected period`}
      aria-valuetext={say(value)}
      min={0}
      max={Math.max(0, count - 1)}
      value={value}
      onChange={(event) => onChange(Number(event.target.value))}
      onFocus={() => onChange(value)}
      onBlur={() => onChange(undefined)}
    />
  );
}

function sayPeriod(title: string, series: readonly Series[], period: number): string {
  const figures = series.map(({ name, values }) => `${name} ${formatNumber(values[period] ?? 0)}`);
  return `${title}: ${figures.join(', ')}`;
}

const TIP_WIDTH = 220;
const MOST_IN_TIP = 8;

function Tip({
  left,
  width,
  title,
  series,
  period,
}: {
  readonly left: number;
  readonly width: number;
  readonly title: string;
  readonly series: readonly Series[];
  readonly period: number;
}) {
  const shown = series.filter(({ values }) => (values[period] ?? 0) > 0).slice(0, MOST_IN_TIP);
  const place = Math.max(
    0,
    Math.min(width - TIP_WIDTH, left > width / 2 ? left - TIP_WIDTH - 12 : left + 12),
  );
  return (
    <div className="tip" style={{ left: place, width: TIP_WIDTH }} aria-hidden="true">
      <p className="tip-title">{title}</p>
      {shown.length === 0 && <p className="tip-row">No data</p>}
      {shown.map(({ name, color, values }) => (
        <p key={name} className="tip-row">
          <span className={`dot color-${color}`} />
          <span className="tip-name">{name}</span>
          <span>{formatNumber(values[period] ?? 0)}</span>
        </p>
      ))}
    </div>
  );
}

export function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <ul className="legend">
      {series.map(({ name, color }) => (
        <li key={name}>
          <span className={`dot color-${color}`} />
          {name}
        </li>
      ))}
    </ul>
  );
}
