/** Test records as objects, and conversions to and from the columns of a dataset. */
import type { Boards, Pins, Users } from '../../src/dataset/records.ts';
import { TextColumn } from '../../src/dataset/text-column.ts';
import { escaped } from '../model/json.ts';

export interface Person {
  readonly id: bigint;
  readonly email: string;
  readonly name: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly nameIsDerived: boolean;
  readonly role: string;
  readonly classRole: string;
}

export interface Board {
  readonly id: bigint;
  readonly title: string;
  readonly category: string;
}

export interface Pin {
  readonly id: bigint;
  readonly title: string;
  readonly body: string;
  readonly webUrl: string;
  readonly imageUrl: string;
  readonly tags: readonly string[];
}

function texts<R>(records: readonly R[], text: (record: R) => string): TextColumn {
  return TextColumn.of(records.map(text));
}

const idsOf = (records: readonly { readonly id: bigint }[]) => BigInt64Array.from(records, ({ id }) => id);

export function usersOf(people: readonly Person[]): Users {
  return {
    id: idsOf(people),
    email: texts(people, ({ email }) => email),
    name: texts(people, ({ name }) => name),
    first_name: texts(people, ({ firstName }) => firstName),
    last_name: texts(people, ({ lastName }) => lastName),
    role: texts(people, ({ role }) => role),
    class_role: texts(people, ({ classRole }) => classRole),
    created_ms: new Float64Array(people.length).fill(Number.NaN),
    name_is_derived: Uint8Array.from(people, ({ nameIsDerived }) => (nameIsDerived ? 1 : 0)),
  };
}

export function boardsOf(boards: readonly Board[]): Boards {
  const none = texts(boards, () => '');
  return {
    id: idsOf(boards),
    title: texts(boards, ({ title }) => title),
    category: texts(boards, ({ category }) => category),
    ...{ lti_id: none, course_id: none, created_ms: new Float64Array(boards.length).fill(Number.NaN) },
  };
}

export function pinsOf(pins: readonly Pin[]): Pins {
  return {
    id: idsOf(pins),
    title: texts(pins, ({ title }) => title),
    body: texts(pins, ({ body }) => body),
    web_url: texts(pins, ({ webUrl }) => webUrl),
    image_url: texts(pins, ({ imageUrl }) => imageUrl),
    tags: TextColumn.of(
      pins.map(({ tags }) => escaped(JSON.stringify(tags))),
      true,
    ),
  };
}

export function peopleOf(users: Users): Person[] {
  return Array.from(users.id, (id, at) => ({
    ...{ id, email: users.email.at(at), name: users.name.at(at), role: users.role.at(at) },
    ...{ firstName: users.first_name.at(at), lastName: users.last_name.at(at) },
    ...{ classRole: users.class_role.at(at), nameIsDerived: users.name_is_derived[at] === 1 },
  }));
}

export async function everybodyOf(runs: AsyncIterable<Users>): Promise<Person[]> {
  const people: Person[] = [];
  for await (const run of runs) people.push(...peopleOf(run));
  return people;
}
