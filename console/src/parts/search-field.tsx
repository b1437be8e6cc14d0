/** A field that filters a list during typing, and shows the number of matches. */
import { useId } from 'react';
import { formatNumber } from '../view/format.ts';

export function SearchField({
  name,
  value,
  onChange,
  found,
}: {
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly found: number;
}) {
  const id = useId();
  return (
    <div className="search">
      <label htmlFor={id} className="unseen">
        {name}
      </label>
      <input
        id={id}
        className="input"
        type="search"
        placeholder={name}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <p className="unseen" aria-live="polite">
        {value === '' ? '' : `${formatNumber(found)} found`}
      </p>
    </div>
  );
}
