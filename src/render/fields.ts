/** The fields of the contract (section 2), in its order: what every representation writes of each resource. */
import type { Board, Organization, Person, Pin } from '../dataset/records.ts';
import type { Variant } from './answer.ts';

export type Value = string | bigint | readonly string[];

/** How each field is read from a record, by the field's public name. */
export type Fields<R> = Readonly<Record<string, (record: R) => Value>>;

/** Contract 2.2. */
export const PERSON: Fields<Person> = {
  id: (person) => person.id,
  email: (person) => person.email,
  name: (person) => person.name,
  role: (person) => person.role,
  class_role: (person) => person.classRole,
};

/** Contract 2.3. */
export const ORGANIZATION: Fields<Organization> = {
  id: (organization) => organization.id,
  name: (organization) => organization.title,
  domain: (organization) => organization.domain,
  category_id: (organization) => organization.categoryId,
};

/** Contract 2.4, without `activity`, which is the event's: it stands between these two (decision 7). */
export const PIN_BEFORE_ACTIVITY: Fields<Pin> = {
  id: (pin) => pin.id,
};
export const PIN_AFTER_ACTIVITY: Fields<Pin> = {
  title: (pin) => pin.title,
  body: (pin) => pin.body,
  web_url: (pin) => pin.webUrl,
  image_url: (pin) => pin.imageUrl,
  tags: (pin) => pin.tags,
};

/** Contract 2.5. */
export const BOARD: Fields<Board> = {
  id: (board) => board.id,
  title: (board) => board.title,
  category: (board) => board.category,
};

/** Contract 2.6. */
export const LISTED_BOARD: Readonly<Record<Variant, Fields<Board>>> = {
  a: { id: (board) => board.id, title: (board) => board.title },
  b: BOARD,
};

/** Contract 2.7. */
export const LISTED_USER: Readonly<Record<Variant, Fields<Person>>> = {
  a: {
    id: (person) => person.id,
    first_name: (person) => person.firstName,
    last_name: (person) => person.lastName,
    email: (person) => person.email,
  },
  b: {
    id: (person) => person.id,
    email: (person) => person.email,
    role: (person) => person.role,
    name: (person) => person.name,
  },
};
