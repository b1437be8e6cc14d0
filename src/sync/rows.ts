/** From the elements of responses to rows of a copy. */
import { AnswerError } from '../client/errors.ts';
import { EVENT_SECTIONS } from '../render/text/fields.ts';
import { type CopyRow, type CopyTable, EVENTS } from './tables.ts';

type ElementFields = Readonly<Record<string, unknown>>;

/** Throws `AnswerError` if the element is no event of a change set. */
export function eventRow(element: unknown): CopyRow {
  const event = fieldsOf(element);
  const row: Record<string, CopyRow[string]> = { timestamp: cellOf(event, 'timestamp') };
  row[EVENTS.key] = keyOf(event, EVENTS.key);
  for (const { of, prefix, fields } of EVENT_SECTIONS) {
    const section = of === 'kind' ? event : event[of === 'activity' ? 'pin' : of];
    const from = section === undefined ? undefined : fieldsOf(section);
    for (const field of fields) row[prefix + field] = from === undefined ? null : cellOf(from, field);
  }
  return row;
}

/** Throws `AnswerError` if the element has no key. */
export function listRow({ columns, key }: CopyTable, element: unknown): CopyRow {
  const fields = fieldsOf(element);
  keyOf(fields, key);
  return Object.fromEntries(columns.map(({ name }) => [name, cellOf(fields, name)]));
}

function fieldsOf(value: unknown): ElementFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ElementFields;
  throw unreadable();
}

function keyOf(fields: ElementFields, key: string): string {
  const value = fields[key];
  if (typeof value === 'string') return value;
  throw unreadable();
}

function cellOf(fields: ElementFields, name: string): CopyRow[string] {
  const value = fields[name] ?? null;
  if (value === null || typeof value === 'string' || isTexts(value)) return value;
  throw unreadable();
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function unreadable(): AnswerError {
  return new AnswerError('unreadable', 'The response has records that are none of Corkboard.');
}
