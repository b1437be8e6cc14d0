/** Saves the events of a view as a file. */
import { useEffect, useRef, useState } from 'react';
import { MEDIA_TYPES } from '../../../src/client/media-types.ts';
import { troubleOf } from '../api/client.ts';
import type { EventFilter } from '../api/queries.ts';
import { Card } from '../parts/card.tsx';
import { formatBytes, formatCount, formatNumber, formatShare } from '../view/format.ts';
import { FORMATS, type Format } from './event-counter.ts';
import { type Progress, saveEvents } from './save.ts';
import { openSink } from './sink.ts';

const NAMES: Readonly<Record<Format, string>> = {
  json: 'JSON',
  ndjson: 'NDJSON',
  csv: 'CSV',
  parquet: 'Parquet',
};

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'busy'; readonly format: Format; readonly progress: Progress }
  | { readonly is: 'saved'; readonly name: string; readonly progress: Progress }
  | { readonly is: 'failed'; readonly reason: string };

export function ExportCard({
  filter,
  name,
  total,
}: {
  readonly filter: EventFilter;
  /** Name of the file without its extension. */
  readonly name: string;
  readonly total: number;
}) {
  const [state, setState] = useState<State>({ is: 'idle' });
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);

  const save = async (format: Format) => {
    const file = `${name}.${format}`;
    const abort = new AbortController();
    running.current = abort;
    try {
      const sink = await openSink(file, MEDIA_TYPES[format]);
      if (sink === undefined) return;
      setState({ is: 'busy', format, progress: { events: undefined, bytes: 0 } });
      const progress = await saveEvents(filter, format, sink, abort.signal, (now) =>
        setState({ is: 'busy', format, progress: now }),
      );
      setState({ is: 'saved', name: file, progress });
    } catch (error) {
      if (abort.signal.aborted) setState({ is: 'idle' });
      else setState({ is: 'failed', reason: troubleOf(error).detail });
    }
  };

  const isBusy = state.is === 'busy';
  return (
    <Card
      title="Export"
      note="All matching events, as the API returns them. CSV is safe to open in a spreadsheet."
    >
      <div className="export">
        {FORMATS.map((format) => (
          <button
            key={format}
            type="button"
            className="button"
            disabled={isBusy}
            onClick={() => void save(format)}
          >
            <span className="unseen">Export as </span>
            {NAMES[format]}
          </button>
        ))}
        {isBusy && (
          <button type="button" className="button button-quiet" onClick={() => running.current?.abort()}>
            Cancel
          </button>
        )}
      </div>
      {isBusy && (
        <progress
          className="progress"
          aria-label="Export"
          max={Math.max(1, total)}
          value={state.progress.events}
        />
      )}
      <p className={state.is === 'failed' ? 'export-state is-failed' : 'export-state'} aria-live="polite">
        {describe(state, total)}
      </p>
    </Card>
  );
}

function describeSize({ events, bytes }: Progress): string {
  const size = formatBytes(bytes);
  return events === undefined ? size : `${formatCount(events, 'event')}, ${size}`;
}

function describe(state: State, total: number): string {
  switch (state.is) {
    case 'idle':
      return '';
    case 'busy': {
      const { events, bytes } = state.progress;
      if (bytes === 0) return 'Preparing the file…';
      if (events === undefined) return formatBytes(bytes);
      return `${formatNumber(events)} of ${formatCount(total, 'event')} (${formatShare(total === 0 ? 1 : events / total)}), ${formatBytes(bytes)}`;
    }
    case 'saved':
      return `Saved ${state.name}: ${describeSize(state.progress)}`;
    case 'failed':
      return `Export failed: ${state.reason}`;
  }
}
