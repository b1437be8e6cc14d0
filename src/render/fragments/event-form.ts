/** The fragments of which an event is composed, in each notation (contract 2.1, decision 7). */
import type { Boards, Pins, Users } from '../../dataset/records.ts';
import {
  ACTIVITY,
  BOARD,
  EVENT_SECTIONS,
  KIND,
  type kindColumns,
  ORGANIZATION,
  type organizationColumns,
  PERSON,
  PIN_AFTER_ACTIVITY,
  PIN_BEFORE_ACTIVITY,
} from '../text/fields.ts';
import type { Halves } from '../text/fragments.ts';
import { type Notation, renderFields, type TableNotation } from '../text/notation.ts';

type Part<Columns> = (columns: Columns, index: number) => Halves;

/**
 * An event consists, in this order, of: the head of its kind, owner, `betweenPeople`, actor and
 * organization; then either the head of the pin, the tail of the kind (the activity) and the tail
 * of the pin, or `withoutPin`; then board, timestamp and `end`. Fewer copies are faster, so the
 * organization is part of the head of every pin and of `withoutPin`.
 */
export interface EventForm {
  readonly kind: Part<ReturnType<typeof kindColumns>>;
  readonly user: Part<Users>;
  readonly betweenPeople: string;
  organization(columns: ReturnType<typeof organizationColumns>): string;
  readonly pin: Part<Pins>;
  readonly withoutPin: string;
  readonly board: Part<Boards>;
  readonly end: string;
}

const JSON_FORM: EventForm = {
  kind: (...kind) => [
    `{${renderFields('json', KIND, ...kind)},"owner":{`,
    renderFields('json', ACTIVITY, ...kind),
  ],
  user: (...user) => [renderFields('json', PERSON, ...user)],
  betweenPeople: '},"actor":{',
  organization: (columns) => `},"organization":{${renderFields('json', ORGANIZATION, columns, 0)}}`,
  pin: (...pin) => [
    `,"pin":{${renderFields('json', PIN_BEFORE_ACTIVITY, ...pin)},`,
    `,${renderFields('json', PIN_AFTER_ACTIVITY, ...pin)}}`,
  ],
  withoutPin: '',
  board: (...board) => [`,"board":{${renderFields('json', BOARD, ...board)}},"timestamp":"`],
  end: '"}',
};

function tableForm(notation: TableNotation): EventForm {
  return {
    kind: (...kind) => [
      `${renderFields(notation, KIND, ...kind)},`,
      renderFields(notation, ACTIVITY, ...kind),
    ],
    user: (...user) => [renderFields(notation, PERSON, ...user)],
    betweenPeople: ',',
    organization: (columns) => `,${renderFields(notation, ORGANIZATION, columns, 0)},`,
    pin: (...pin) => [
      `${renderFields(notation, PIN_BEFORE_ACTIVITY, ...pin)},`,
      `,${renderFields(notation, PIN_AFTER_ACTIVITY, ...pin)}`,
    ],
    // Two commas are around the activity, the others are inside the tail of the pin.
    withoutPin: ','.repeat(1 + PIN_AFTER_ACTIVITY.length),
    board: (...board) => [`,${renderFields(notation, BOARD, ...board)},`],
    end: '',
  };
}

export const EVENT_FORMS: Readonly<Record<Notation, EventForm>> = {
  json: JSON_FORM,
  csv: tableForm('csv'),
  excel: tableForm('excel'),
};

/**
 * The column names of events in CSV: the members of nested resources, prefixed with the name of the
 * resource.
 */
export const EVENT_COLUMNS = [
  ...EVENT_SECTIONS.flatMap(({ prefix, fields }) => fields.map((field) => prefix + field)),
  'timestamp',
].join(',');
