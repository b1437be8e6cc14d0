/** The parts that an event is put together from, in each notation (contract 2.1, decision 7). */
import type { Board, Kind, Organization, Person, Pin } from '../dataset/records.ts';
import {
  BOARD,
  type Fields,
  ORGANIZATION,
  PERSON,
  PIN_AFTER_ACTIVITY,
  PIN_BEFORE_ACTIVITY,
} from './fields.ts';
import type { Halves } from './fragments.ts';
import { type Notation, parseFields, renderFields, renderNames, type TableNotation } from './notation.ts';

/**
 * An event is, in this order: head of its kind, owner, `betweenPeople`, actor, organization, then either head of the
 * pin, tail of the kind (the activity), tail of the pin, or `withoutPin`; then board, timestamp, `end`. The fewer
 * pieces are copied, the faster: the organization stands in front of every pin's head and of `withoutPin`.
 */
export interface EventForm {
  kind(kind: Kind): Halves;
  person(person: Person): Halves;
  readonly betweenPeople: string;
  organization(organization: Organization): string;
  pin(pin: Pin): Halves;
  readonly withoutPin: string;
  board(board: Board): Halves;
  readonly end: string;
}

export const ACTION: Fields<Kind> = { activity: (kind) => kind.action };
export const KIND: Fields<Kind> = { type: (kind) => kind.type, action: (kind) => kind.action };

const JSON_FORM: EventForm = {
  kind: (kind) => [`{${renderFields('json', KIND, kind)},"owner":{`, renderFields('json', ACTION, kind)],
  person: (person) => [renderFields('json', PERSON, person)],
  betweenPeople: '},"actor":{',
  organization: (organization) => `},"organization":{${renderFields('json', ORGANIZATION, organization)}}`,
  pin: (pin) => [
    `,"pin":{${renderFields('json', PIN_BEFORE_ACTIVITY, pin)},`,
    `,${renderFields('json', PIN_AFTER_ACTIVITY, pin)}}`,
  ],
  withoutPin: '',
  board: (board) => [`,"board":{${renderFields('json', BOARD, board)}},"timestamp":"`],
  end: '"}',
};

function tableForm(notation: TableNotation): EventForm {
  return {
    kind: (kind) => [`${renderFields(notation, KIND, kind)},`, renderFields(notation, ACTION, kind)],
    person: (person) => [renderFields(notation, PERSON, person)],
    betweenPeople: ',',
    organization: (organization) => `,${renderFields(notation, ORGANIZATION, organization)},`,
    pin: (pin) => [
      `${renderFields(notation, PIN_BEFORE_ACTIVITY, pin)},`,
      `,${renderFields(notation, PIN_AFTER_ACTIVITY, pin)}`,
    ],
    // Two commas stand around the activity, the others inside the pin's tail.
    withoutPin: ','.repeat(1 + Object.keys(PIN_AFTER_ACTIVITY).length),
    board: (board) => [`,${renderFields(notation, BOARD, board)},`],
    end: '',
  };
}

export const EVENT_FORMS: Readonly<Record<Notation, EventForm>> = {
  json: JSON_FORM,
  csv: tableForm('csv'),
  excel: tableForm('excel'),
};

/** What `JSON_FORM` has written of a person, a board and a pin, as its fields; halves as they are. */
export const READ_PART = {
  person: (head: string) => parseFields(`{${head}}`),
  board: (head: string) => parseFields(head.slice(',"board":'.length, -',"timestamp":"'.length)),
  // The organization stands before the head.
  pin: (head: string, tail: string) => parseFields(`{${head.slice(head.lastIndexOf('"id":'), -1)}${tail}`),
} as const;

/** Columns of events in CSV: the members of the nested resources with the resource's name before them. */
export const EVENT_COLUMNS = [
  renderNames(KIND),
  renderNames(PERSON, 'owner_'),
  renderNames(PERSON, 'actor_'),
  renderNames(ORGANIZATION, 'organization_'),
  renderNames(PIN_BEFORE_ACTIVITY, 'pin_'),
  renderNames(ACTION, 'pin_'),
  renderNames(PIN_AFTER_ACTIVITY, 'pin_'),
  renderNames(BOARD, 'board_'),
  'timestamp',
].join(',');
