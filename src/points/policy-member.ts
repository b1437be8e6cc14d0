/**
 * Reads single values from the JSON of a policy. Every refusal is `policy-malformed` and names the
 * JSON path, the problem and what is expected.
 */
import { AppError } from '../domain/app-error.ts';
import { parseInstant } from '../domain/instant.ts';
import { nearestName } from '../domain/nearest-name.ts';
import { shortened } from '../domain/shortened-text.ts';

/** A value of the policy and its JSON path, such as `$.rules[0].points`. */
export interface Member {
  readonly path: string;
  readonly value: unknown;
}

/** Throws `policy-malformed`. `trouble` continues a sentence that begins with the path. */
export function refuse(member: Member, trouble: string): never {
  throw new AppError('policy-malformed', `The policy is malformed: ${member.path} ${trouble}.`);
}

/** Throws `policy-malformed` with the value and what is expected instead. */
export function refuseValue(member: Member, expected: string): never {
  refuse(member, `is ${describe(member.value)}; expected ${expected}`);
}

/**
 * The members of an object by name. Refuses unknown members, naming the nearest known one, and
 * missing required members.
 */
export function readMembers(
  object: Member,
  known: readonly string[],
  required: readonly string[] = [],
): ReadonlyMap<string, Member> {
  const members = readEntries(object);
  for (const name of members.keys()) {
    if (known.includes(name)) continue;
    const nearest = nearestName(name, known);
    const hint =
      nearest === undefined ? `expected one of ${known.join(', ')}` : `the nearest known one is "${nearest}"`;
    refuse(object, `has the unknown member ${describe(name)}; ${hint}`);
  }
  for (const name of required) {
    if (!members.has(name)) refuse(object, `lacks the member "${name}"; expected ${required.join(', ')}`);
  }
  return members;
}

/** The members of an object whose member names are data and not fixed. */
export function readEntries(object: Member): ReadonlyMap<string, Member> {
  const { path, value } = object;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuseValue(object, 'an object');
  return new Map(
    Object.entries(value).map(([name, inner]): [string, Member] => [
      name,
      { path: /^[A-Za-z]+$/.test(name) ? `${path}.${name}` : `${path}[${describe(name)}]`, value: inner },
    ]),
  );
}

export function readElements(list: Member): readonly Member[] {
  if (!Array.isArray(list.value)) refuseValue(list, 'an array');
  return list.value.map((value: unknown, index) => ({ path: `${list.path}[${index}]`, value }));
}

/**
 * Far above any real award or goal, but small enough that sums over every event of an organization
 * stay exact.
 */
const LARGEST = 1_000_000_000;

/**
 * An integer from `smallest` to a thousand million. `orElse` is appended to the message to name
 * other accepted values.
 */
export function readInteger(member: Member, smallest: number, orElse = ''): number {
  const { value } = member;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < smallest || value > LARGEST) {
    refuseValue(member, `an integer from ${smallest} to ${LARGEST}${orElse}`);
  }
  // JSON has a negative zero; normalize it to 0.
  return value === 0 ? 0 : value;
}

export function readBoolean(member: Member): boolean {
  if (typeof member.value !== 'boolean') refuseValue(member, 'true or false');
  return member.value;
}

export function readChoice<T extends string>(member: Member, choices: readonly T[]): T {
  const choice = choices.find((known) => known === member.value);
  return choice ?? refuseValue(member, choices.map((known) => `"${known}"`).join(' or '));
}

/** Unix milliseconds; undefined for `null`, which is an open end. */
export function readInstant(member: Member): number | undefined {
  const { value } = member;
  if (value === null) return undefined;
  const instantMs =
    typeof value === 'string' || Number.isInteger(value) ? parseInstant(String(value)) : undefined;
  return (
    instantMs ??
    refuseValue(
      member,
      'an ISO 8601 date-time with an offset ("2026-01-01T00:00:00Z"), Unix milliseconds or seconds, or null for an open end',
    )
  );
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  // JSON has no infinity, but a number too large for JavaScript is parsed as one.
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return shortened(text);
}
