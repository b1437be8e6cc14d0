/** A field to find one of many: type a part of the name, choose with the arrow keys or a click. */
import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { matches } from '../view/matches.ts';

export interface Option {
  readonly id: string;
  readonly title: string;
  readonly note?: string;
}

const MOST_SHOWN = 50;

export function Combobox({
  name,
  any,
  chosen,
  options,
  onWanted,
  onChange,
}: {
  readonly name: string;
  /** What it says while nothing is chosen. */
  readonly any: string;
  readonly chosen: Option | undefined;
  /** Undefined until they are there. */
  readonly options: readonly Option[] | undefined;
  /** Somebody is about to choose. */
  readonly onWanted: () => void;
  readonly onChange: (id: string | undefined) => void;
}) {
  const id = useId();
  const [text, setText] = useState<string>();
  const [active, setActive] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const isOpen = text !== undefined;
  const found = isOpen
    ? (options ?? [])
        .filter((option) => matches(`${option.title} ${option.note ?? ''} ${option.id}`, text))
        .slice(0, MOST_SHOWN)
    : [];
  const choose = (option: Option | undefined) => {
    setText(undefined);
    setActive(0);
    onChange(option?.id);
    field.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setText(undefined);
    else if (event.key === 'ArrowDown' && !isOpen) setText('');
    else if (event.key === 'ArrowDown') setActive(Math.min(found.length - 1, active + 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(0, active - 1));
    else if (event.key === 'Enter' && isOpen && found[active] !== undefined) choose(found[active]);
    else return;
    event.preventDefault();
  };
  return (
    <div className="field combobox">
      <label htmlFor={id}>{name}</label>
      <div className="combobox-field">
        <input
          id={id}
          ref={field}
          className="input"
          role="combobox"
          autoComplete="off"
          spellCheck={false}
          placeholder={any}
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={found[active] && `${id}-${active}`}
          value={text ?? chosen?.title ?? ''}
          onFocus={onWanted}
          onClick={() => setText(text ?? '')}
          onBlur={() => setText(undefined)}
          onKeyDown={press}
          onChange={(event) => {
            setText(event.target.value);
            setActive(0);
          }}
        />
        {chosen !== undefined && !isOpen && (
          <button type="button" className="combobox-clear" onClick={() => choose(undefined)}>
            <span className="unseen">Clear {name.toLocaleLowerCase()}</span>
            <span aria-hidden="true">×</span>
          </button>
        )}
      </div>
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label={name}
        className="combobox-list"
        hidden={!isOpen || found.length === 0}
      >
        {found.map((option, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys, as the pattern wants it
          <div
            key={option.id}
            id={`${id}-${place}`}
            role="option"
            className="combobox-option"
            tabIndex={-1}
            aria-selected={place === active}
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => choose(option)}
          >
            <span>{option.title}</span>
            {option.note !== undefined && <span className="combobox-note">{option.note}</span>}
          </div>
        ))}
      </div>
      <p className="unseen" aria-live="polite">
        {isOpen ? sayFound(options, found.length) : ''}
      </p>
      {isOpen && found.length === 0 && <p className="combobox-list combobox-none">{sayFound(options, 0)}</p>}
    </div>
  );
}

function sayFound(options: readonly Option[] | undefined, found: number): string {
  if (options === undefined) return 'Loading…';
  return found === 0 ? 'Nothing is called so' : `${found} shown`;
}
