/**
 * The rows of events in CSV and Parquet as a schema, made from the fields of both
 * (`src/render/text/fields.ts`). Rows of boards and users have the members of the JSON objects.
 */
import { type TProperties, type TSchema, Type } from 'typebox';
import { EVENT_SECTIONS } from '../../render/text/fields.ts';
import { BoardRef, Event, Organization, Person, Pin } from './schemas.ts';

const OF_SECTION: Readonly<Record<(typeof EVENT_SECTIONS)[number]['of'], { properties: TProperties }>> = {
  kind: Event,
  owner: Person,
  actor: Person,
  organization: Organization,
  pin: Pin,
  activity: Pin,
  board: BoardRef,
};

/** Columns in order. Those of pins are optional. */
function eventColumns(): TProperties {
  const columns = EVENT_SECTIONS.flatMap(({ of, prefix, fields }) =>
    fields.map((field): [string, TSchema] => {
      const schema = OF_SECTION[of].properties[field];
      if (schema === undefined) throw new Error(`${of} has no ${field}`);
      const cell = 'type' in schema && schema.type === 'array' ? listCell(schema) : schema;
      return [prefix + field, OF_SECTION[of] === Pin ? Type.Optional(cell) : cell];
    }),
  );
  return { ...Object.fromEntries(columns), timestamp: Event.properties.timestamp };
}

export function listCell(list: TSchema): TSchema {
  const description = 'description' in list ? `${list.description} ` : '';
  return Type.String({ description: `${description}A JSON array.`, examples: ['["style","irony"]'] });
}

export const EventRow = Type.Object(eventColumns(), {
  title: 'EventRow',
  description:
    'The columns of an event in CSV and Parquet, in this order. Columns of the pin are empty (CSV) or null (Parquet) for events without one. In Parquet `timestamp` is a TIMESTAMP(MILLIS, UTC).',
});
