/**
 * Documents of other software, as properties need them: valid ones with any optional part missing,
 * things given whole or by an identifier alone, and now and then a damaged one. What is given of a
 * thing is the same wherever it is given.
 */
import fc from 'fast-check';
import type { Format, FormatOptions, FormatSource } from '../../../../src/ingest/formats/format.ts';

export interface WrittenFile {
  readonly name: string;
  readonly text: string;
  /** The line of the first record; each has a line of its own. */
  readonly firstLine: number;
  readonly records: readonly FormatSource[];
}

export interface Documents {
  readonly format: Format;
  readonly options: FormatOptions;
  readonly records: fc.Arbitrary<readonly FormatSource[]>;
  /** Whether a record has all that it must have; one that has may not be refused. */
  isValid(record: FormatSource): boolean;
  write(records: readonly FormatSource[]): readonly WrittenFile[];
  /** How many events, descriptions and dropped things a record that holds is counted as. */
  countOf(record: FormatSource): number;
  /** The same record, with what it lists in another order; absent where it lists nothing. */
  reordered?(record: FormatSource): FormatSource;
}

/** The object without what is undefined, each member being left out now and then. */
export function partial(members: Readonly<Record<string, unknown>>): fc.Arbitrary<FormatSource> {
  const names = Object.keys(members);
  return fc
    .subarray(names)
    .map((chosen) => Object.fromEntries(chosen.map((name) => [name, members[name]])))
    .map(plain);
}

/** As JSON has it: no undefined members, and arrays and objects of its own. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

/** One record in ten lacks one of these members. */
export function damaged(
  record: fc.Arbitrary<FormatSource>,
  members: readonly string[],
): fc.Arbitrary<FormatSource> {
  const without = fc.tuple(record, fc.constantFrom(...members)).map(([whole, member]) => {
    const { [member]: _, ...rest } = whole;
    return rest;
  });
  return fc.oneof({ arbitrary: record, weight: 9 }, { arbitrary: without, weight: 1 });
}

export function has(record: FormatSource, members: readonly string[]): boolean {
  return members.every((member) => member in record);
}

export function linesOf(records: readonly FormatSource[], name = 'all.ndjson'): readonly WrittenFile[] {
  const text = records.map((one) => `${JSON.stringify(one)}\n`).join('');
  return [{ name, text, firstLine: 1, records }];
}

/** Numbers of things, of which there are few, so that records speak of the same ones. */
export const person = fc.integer({ min: 1, max: 4 });
export const page = fc.integer({ min: 1, max: 4 });

/** Each page lies on one board, and has one owner. */
export const courseOf = (number: number) => 1 + (number % 2);
export const ownerOf = (number: number) => 1 + (number % 3);

/** A moment that belongs to the number of an event. */
export const momentOf = (number: number) => new Date(Date.UTC(2024, 1, 25, 10, number % 60)).toISOString();

/** Records of which each is made with a number of its own. */
export function numbered(
  recordOf: (number: number) => fc.Arbitrary<FormatSource>,
): fc.Arbitrary<readonly FormatSource[]> {
  return fc
    .integer({ min: 1, max: 12 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => recordOf(at + 1))));
}
