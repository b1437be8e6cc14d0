/**
 * Checks the fields of a record against the schema, one by one: names, presence, types. Rules that
 * concern several fields are checked elsewhere.
 */

import { nearestName } from '../../domain/nearest-name.ts';
import { quoted } from '../../domain/shortened-text.ts';
import type { RecordKind } from '../../store/staging.ts';
import { boolean, text } from './fields.ts';
import { Refusal } from './refusal.ts';
import {
  EVENT_OBJECTS,
  identifyingFields,
  isLmsProperty,
  LMS_PREFIX,
  requiredFields,
  SCHEMA,
  type SchemaEntry,
  type Values,
} from './schema.ts';

/** A record as written in the file: in CSV every value is a text cell. */
export interface Written {
  readonly value: Readonly<Record<string, unknown>>;
  readonly isCells: boolean;
}

/** A record whose fields are valid individually. */
export interface Filled<K extends RecordKind> {
  readonly values: Values<K>;
  /** LMS properties of a user by name; absent when none is given. */
  readonly lms: Readonly<Record<string, string>> | undefined;
  /**
   * The name of a schema field in the notation of the record: `owner_email`, or `owner.email` if
   * nested.
   */
  readonly nameOf: (field: string) => string;
}

interface Slot extends SchemaEntry {
  readonly name: string;
  /** `owner.email` for `owner_email`; equal to `name` for a field that cannot be nested. */
  readonly nestedName: string;
}

/** The fields of a kind of record, indexed for lookups. */
interface FieldForm {
  readonly slots: ReadonlyMap<string, Slot>;
  readonly required: readonly string[];
  /** Members of the objects of a nested event, by object (`owner`), then by member (`email`). */
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, Slot>>;
}

const FORMS: Readonly<Record<RecordKind, FieldForm>> = {
  users: makeForm('users'),
  boards: makeForm('boards'),
  pins: makeForm('pins'),
  memberships: makeForm('memberships'),
  events: makeForm('events'),
  points: makeForm('points'),
  adjustments: makeForm('adjustments'),
};

function makeForm(kind: RecordKind): FieldForm {
  const slots = Object.entries(SCHEMA[kind]).map(([name, entry]) => ({
    name,
    nestedName: nest(kind, name),
    ...entry,
  }));
  const objects = kind === 'events' ? EVENT_OBJECTS : [];
  const membersOf = (object: string) =>
    slots
      .filter(({ nestedName }) => nestedName.startsWith(`${object}.`))
      .map((slot) => [slot.nestedName.slice(object.length + 1), slot] as const);
  return {
    slots: new Map(slots.map((slot) => [slot.name, slot])),
    required: requiredFields(kind),
    objects: new Map(objects.map((object) => [object, new Map(membersOf(object))])),
  };
}

function nest(kind: RecordKind, name: string): string {
  const object =
    kind === 'events' ? EVENT_OBJECTS.find((prefix) => name.startsWith(`${prefix}_`)) : undefined;
  return object === undefined ? name : `${object}.${name.slice(object.length + 1)}`;
}

/** Whether the record is to be deleted. Throws `Refusal`. */
export function isDeletion({ value, isCells }: Written): boolean {
  return boolean.read(value['deleted'], 'deleted', isCells) === true;
}

/** Checks each field by itself. Throws the `Refusal` of the first invalid field. */
export function fillForm<K extends RecordKind>(kind: K, written: Written): Filled<K> {
  return fillFields(kind, written, FORMS[kind].required);
}

/** Like `fillForm`, for a record to be deleted; only the fields that identify it are required. */
export function fillDeletion<K extends RecordKind>(kind: K, written: Written): Partial<Values<K>> {
  const { id } = written.value;
  const hasId = kind === 'events' && id !== undefined && id !== null && id !== '';
  return fillFields(kind, written, identifyingFields(kind, hasId)).values;
}

function fillFields<K extends RecordKind>(
  kind: K,
  { value, isCells }: Written,
  required: readonly string[],
): Filled<K> {
  const { slots, objects } = FORMS[kind];
  const values: Record<string, unknown> = {};
  const lms: [string, string][] = [];
  let isNested = false;
  for (const name in value) {
    const given = value[name];
    const slot = slots.get(name);
    if (slot !== undefined) fill(values, slot, given, name, isCells);
    else if (objects.has(name) && !isCells) {
      isNested = true;
      fillObject(values, kind, name, given);
    } else {
      const property = readLmsProperty(kind, name, given);
      if (property !== undefined) lms.push(property);
    }
  }
  const nameOf = (name: string) => (isNested ? nest(kind, name) : name);
  for (const name of required) if (values[name] === undefined) throw new Refusal(nameOf(name), 'is required');
  // The type `Values` is derived from the same table that has just been applied.
  return { values: values as Values<K>, lms: lms.length === 0 ? undefined : Object.fromEntries(lms), nameOf };
}

/** Reads the members of an object of a nested event; null means no object. */
function fillObject(values: Record<string, unknown>, kind: RecordKind, object: string, given: unknown): void {
  if (given === null) return;
  if (typeof given !== 'object' || Array.isArray(given)) throw new Refusal(object, 'must be an object');
  const slots = FORMS[kind].objects.get(object);
  for (const [name, member] of Object.entries(given)) {
    const slot = slots?.get(name);
    if (slot === undefined) throw refuseName(kind, `${object}.${name}`, true);
    fill(values, slot, member, slot.nestedName, false);
  }
}

function fill(
  values: Record<string, unknown>,
  slot: Slot,
  given: unknown,
  name: string,
  isCells: boolean,
): void {
  if (values[slot.name] !== undefined) throw new Refusal(name, 'is given twice, flat and nested');
  values[slot.name] = slot.field.read(given, name, isCells);
}

/**
 * The names of the fields in the header of a CSV file, which may be written in any case. Throws
 * `Refusal` when no record below it could be valid.
 */
export function readHeader(kind: RecordKind, header: readonly string[]): readonly string[] {
  const { slots, required } = FORMS[kind];
  checkSeparators(header);
  const seen = new Set<string>();
  const names = header.map((written) => fieldNamed(kind, written));
  for (const name of names) {
    if (seen.has(name)) throw new Refusal(name, 'is twice in the header');
    seen.add(name);
    if (!slots.has(name)) readLmsProperty(kind, name, '');
  }
  const needed = seen.has('deleted') ? identifyingFields(kind, seen.has('id')) : required;
  const missing = needed.find((name) => !seen.has(name));
  if (missing !== undefined) throw new Refusal(missing, 'is required, but is not in the header');
  return names;
}

function fieldNamed(kind: RecordKind, written: string): string {
  const name = written.trim();
  const lower = name.toLowerCase();
  if (lower.startsWith(LMS_PREFIX)) return `${LMS_PREFIX}${name.slice(LMS_PREFIX.length)}`;
  return FORMS[kind].slots.has(lower) ? lower : written;
}

/**
 * Throws `Refusal` when the cells have an unknown separator, or the row contains a carriage return:
 * the line ends of the file are mixed.
 */
export function checkSeparators(header: readonly string[]): void {
  if (header.length === 1 && header[0]!.includes('|'))
    throw new Refusal('', 'the cells of the header must be separated by commas, semicolons or tabs');
  if (header.some((name) => name.includes('\r'))) throw new Refusal('', 'lines must end with LF or CRLF');
}

/** Undefined when the property is null. Throws `Refusal` when no field has this name. */
function readLmsProperty(kind: RecordKind, name: string, value: unknown): [string, string] | undefined {
  if (kind !== 'users' || !name.startsWith(LMS_PREFIX)) throw refuseName(kind, name, false);
  const property = name.slice(LMS_PREFIX.length);
  if (!isLmsProperty(property)) {
    throw new Refusal(name, 'must name an LMS property of 1 to 64 printable characters without white space');
  }
  const given = text.read(value, name, false);
  return given === undefined ? undefined : [property, given];
}

function refuseName(kind: RecordKind, name: string, isNested: boolean): Refusal {
  const known = Object.keys(SCHEMA[kind]).map((field) => (isNested ? nest(kind, field) : field));
  const nearest = nearestName(name, known);
  const advice = nearest === undefined ? `the fields are ${known.join(', ')}` : `did you mean ${nearest}?`;
  return new Refusal(name, `${quoted(name)} is not a field of ${kind}; ${advice}`);
}
