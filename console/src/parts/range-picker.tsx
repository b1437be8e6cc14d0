/** Selects the range and the time zone of all pages. */
import { useId, useState } from 'react';
import { useClockIfKnown } from '../api/queries.ts';
import { formatDay } from '../view/format.ts';
import { presetsOf, type Range } from '../view/range.ts';
import { useDays, useParameters, useWhole, ZONE_OF_READER } from '../view/use-view.ts';

export function RangePicker() {
  const range = useDays();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="range">
      <button type="button" className="button range-button" popoverTarget={id}>
        <svg viewBox="0 0 20 20" aria-hidden="true" className="icon">
          <path d="M3 5h14v12H3zM3 9h14M7 2.5v4M13 2.5v4" />
        </svg>
        <span className="unseen">Date range: </span>
        <span className="range-text">{describeRange(range)}</span>
        <span className="range-zone">{range.zone.replaceAll('_', ' ')}</span>
      </button>
      <p className="unseen" aria-live="polite">
        {describeRange(range)}, {range.zone}
      </p>
      <div
        id={id}
        popover="auto"
        className="range-panel"
        onToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {isOpen && <RangeForm range={range} />}
      </div>
    </div>
  );
}

function describeRange({ from, to }: Range): string {
  if (from === undefined && to === undefined) return 'All time';
  if (from === undefined) return `Until ${formatDay(to ?? '')}`;
  if (to === undefined) return `From ${formatDay(from)}`;
  return from === to ? formatDay(from) : `${formatDay(from)} – ${formatDay(to)}`;
}

function RangeForm({ range }: { readonly range: Range }) {
  const [, change] = useParameters();
  const { data } = useWhole();
  const { from, to, zone } = range;
  const presets = presetsOf(data?.first ?? null, data?.last ?? null, useClockIfKnown(zone));
  return (
    <>
      <fieldset className="range-presets">
        <legend>Date range</legend>
        {presets.map((preset) => (
          <button
            key={preset.name}
            type="button"
            className="button button-chip"
            aria-pressed={preset.from === from && preset.to === to}
            onClick={() => change({ from: preset.from, to: preset.to })}
          >
            {preset.name}
          </button>
        ))}
      </fieldset>
      <div className="range-days">
        <label>
          Start date
          <input
            className="input"
            type="date"
            value={from ?? ''}
            max={to}
            onChange={(event) => change({ from: event.target.value })}
          />
        </label>
        <label>
          End date
          <input
            className="input"
            type="date"
            value={to ?? ''}
            min={from}
            onChange={(event) => change({ to: event.target.value })}
          />
        </label>
      </div>
      <ZoneField zone={zone} onChange={(next) => change({ zone: next })} />
      <p className="range-note">
        Days begin at midnight in this time zone. To share this view, copy the URL; it opens for anyone with
        an API key.
      </p>
    </>
  );
}

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

function ZoneField({ zone, onChange }: { readonly zone: string; readonly onChange: (zone: string) => void }) {
  const zones = ZONES.includes(zone) ? ZONES : [zone, ...ZONES];
  return (
    <label className="range-zone-field">
      Time zone
      <select className="input" value={zone} onChange={(event) => onChange(event.target.value)}>
        {zones.map((name) => (
          <option key={name} value={name}>
            {name === ZONE_OF_READER ? `${name} (local)` : name}
          </option>
        ))}
      </select>
    </label>
  );
}
