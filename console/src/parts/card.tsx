/** A card: a chart or other content under a heading, optionally with its values as a table. */
import { type ReactNode, useId, useState } from 'react';

export function Card({
  title,
  note,
  tools,
  table,
  className = '',
  children,
}: {
  readonly title: string;
  readonly note?: ReactNode;
  /** Controls beside the heading. */
  readonly tools?: ReactNode;
  /** Renders the values of the chart as a table. */
  readonly table?: (() => ReactNode) | undefined;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const heading = useId();
  const [isTable, setTable] = useState(false);
  return (
    <section className={`card ${className}`} aria-labelledby={heading}>
      <header className="card-head">
        <div>
          <h2 id={heading}>{title}</h2>
          {note !== undefined && <p className="card-note">{note}</p>}
        </div>
        <div className="card-tools">
          {tools}
          {table !== undefined && (
            <button
              type="button"
              className="button button-quiet"
              aria-pressed={isTable}
              onClick={() => setTable(!isTable)}
            >
              <TableIcon />
              <span className="unseen">{title} as a </span>
              Table
            </button>
          )}
        </div>
      </header>
      {isTable && table !== undefined ? table() : children}
    </section>
  );
}

function TableIcon() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" className="icon">
      <rect x="1.5" y="2.5" width="13" height="11" rx="1.5" />
      <path d="M1.5 6.5h13M6 6.5v7" />
    </svg>
  );
}

/** One number with its name. */
export function Tile({
  name,
  value,
  note,
}: {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}) {
  return (
    <div className="tile">
      <dt>{name}</dt>
      <dd>
        <span className="tile-value">{value}</span>
        {note !== undefined && <span className="tile-note">{note}</span>}
      </dd>
    </div>
  );
}

export function Tiles({ children }: { readonly children: ReactNode }) {
  return <dl className="tiles">{children}</dl>;
}

/** A selection of one of a few words. */
export function Choice<T extends string>({
  name,
  value,
  options,
  onChange,
}: {
  readonly name: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, title: string])[];
  readonly onChange: (value: T) => void;
}) {
  return (
    <label className="choice">
      <span className="unseen">{name}</span>
      <select value={value} onChange={(event) => onChange(event.target.value as T)}>
        <Options options={options} />
      </select>
    </label>
  );
}

/** The entries of a `select`. */
export function Options({
  options,
}: {
  readonly options: readonly (readonly [value: string, title: string])[];
}) {
  return options.map(([value, title]) => (
    <option key={value} value={value}>
      {title}
    </option>
  ));
}
