/**
 * A field to select one of many options: type a part of its name, then choose with the arrow keys
 * or a click.
 */
import { useCombobox } from 'downshift';
import { useRef, useState } from 'react';
import { matches } from '../view/matches.ts';

export interface Option {
  readonly id: string;
  readonly title: string;
  readonly note?: string;
}

const MOST_SHOWN = 50;
const { InputBlur, InputKeyDownEscape } = useCombobox.stateChangeTypes;
const KEEPING: readonly unknown[] = [InputBlur, InputKeyDownEscape];

export function Combobox({
  name,
  any,
  chosen,
  options,
  onWanted,
  onChange,
}: {
  readonly name: string;
  /** Placeholder while nothing is chosen. */
  readonly any: string;
  readonly chosen: Option | undefined;
  /** Undefined until they are loaded. */
  readonly options: readonly Option[] | undefined;
  /** Called when the field receives the focus. */
  readonly onWanted: () => void;
  readonly onChange: (id: string | undefined) => void;
}) {
  // The typed text while the list is open; otherwise undefined.
  const [text, setText] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const found = (options ?? [])
    .filter((option) => matches(`${option.title} ${option.note ?? ''} ${option.id}`, text ?? ''))
    .slice(0, MOST_SHOWN);
  const { isOpen, ...combobox } = useCombobox<Option>({
    items: found,
    itemToString: (option) => option?.title ?? '',
    itemToKey: (option) => option?.id,
    isOpen: text !== undefined,
    inputValue: text ?? chosen?.title ?? '',
    selectedItem: chosen ?? null,
    defaultHighlightedIndex: 0,
    // Leaving the field or pressing Escape changes nothing.
    stateReducer: ({ selectedItem }, { type, changes }) =>
      KEEPING.includes(type) ? { ...changes, selectedItem } : changes,
    onIsOpenChange: ({ isOpen: opens }) => setText((typed) => (opens ? (typed ?? '') : undefined)),
    onSelectedItemChange: ({ selectedItem }) => onChange(selectedItem?.id),
    getA11yStatusMessage: (state) => (state.isOpen ? sayFound(options, found.length) : ''),
  });
  const clear = () => {
    onChange(undefined);
    field.current?.focus();
  };
  return (
    <div className="field combobox">
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the properties name the field */}
      <label {...combobox.getLabelProps()}>{name}</label>
      <div className="combobox-field">
        <input
          {...combobox.getInputProps({
            ref: field,
            onFocus: onWanted,
            // Synchronous, so that the text cursor keeps its position.
            onChange: ({ currentTarget }) => setText(currentTarget.value),
          })}
          className="input"
          spellCheck={false}
          placeholder={any}
        />
        {chosen !== undefined && !isOpen && (
          <button type="button" className="combobox-clear" onClick={clear}>
            <span className="unseen">Clear {name.toLocaleLowerCase()}</span>
            <span aria-hidden="true">×</span>
          </button>
        )}
      </div>
      <div {...combobox.getMenuProps()} className="combobox-list" hidden={!isOpen || found.length === 0}>
        {isOpen &&
          found.map((item, index) => (
            <div key={item.id} {...combobox.getItemProps({ item, index })} className="combobox-option">
              <span>{item.title}</span>
              {item.note !== undefined && <span className="combobox-note">{item.note}</span>}
            </div>
          ))}
      </div>
      {isOpen && found.length === 0 && <p className="combobox-list combobox-none">{sayFound(options, 0)}</p>}
    </div>
  );
}

function sayFound(options: readonly Option[] | undefined, found: number): string {
  if (options === undefined) return 'Loading…';
  return found === 0 ? 'No matches' : `${found} shown`;
}
