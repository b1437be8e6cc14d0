/**
 * Documents of other software for property tests: valid ones from which any optional part may be
 * missing, with objects given in full or as an identifier alone, and sometimes a damaged one. An
 * object is described the same way wherever it appears.
 */
import fc from 'fast-check';
import type { Format, FormatOptions, FormatSource } from '../../../../src/ingest/formats/format.ts';

export interface WrittenFile {
  readonly name: string;
  readonly text: string;
  /** The line of the first record; each record has its own line. */
  readonly firstLine: number;
  readonly records: readonly FormatSource[];
}

export interface Documents {
  readonly format: Format;
  readonly options: FormatOptions;
  readonly records: fc.Arbitrary<readonly FormatSource[]>;
  /**
   * Whether a record has all required members, and what it must find in `all` records; such a
   * record must not be refused.
   */
  isValid(record: FormatSource, all: readonly FormatSource[]): boolean;
  write(records: readonly FormatSource[]): readonly WrittenFile[];
  /**
   * The number of events, descriptions, deletions and dropped items that a valid record counts as,
   * among `all` records.
   */
  countOf(record: FormatSource, all: readonly FormatSource[]): number;
  /** The same record with its lists in a different order; absent if it has no lists. */
  reordered?(record: FormatSource): FormatSource;
}

/** The object without undefined members; each member is sometimes left out. */
export function partial(members: Readonly<Record<string, unknown>>): fc.Arbitrary<FormatSource> {
  const names = Object.keys(members);
  return fc
    .subarray(names)
    .map((chosen) => Object.fromEntries(chosen.map((name) => [name, members[name]])))
    .map(plain);
}

/** The value as JSON has it: without undefined members, and with arrays and objects of its own. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

/** In one record of ten, one of these members is missing. */
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

/** Ids from a small range, so that several records refer to the same object. */
export const person = fc.integer({ min: 1, max: 4 });
export const page = fc.integer({ min: 1, max: 4 });

/** Each page is on one board, and has one owner. */
export const courseOf = (number: number) => 1 + (number % 2);
export const ownerOf = (number: number) => 1 + (number % 3);

/** A time that is determined by the number of an event. */
export const momentOf = (number: number) => new Date(Date.UTC(2024, 1, 25, 10, number % 60)).toISOString();

/** Records, each made with its own number. */
export function numbered(
  recordOf: (number: number) => fc.Arbitrary<FormatSource>,
): fc.Arbitrary<readonly FormatSource[]> {
  return fc
    .integer({ min: 1, max: 12 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => recordOf(at + 1))));
}
