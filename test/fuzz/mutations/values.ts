/**
 * Texts, numbers and identifiers that are difficult for readers: mutations write them in place of a
 * value.
 */
import type { Random } from '../../../bench/random.ts';

/** Identifiers that would leave the folder if they became part of a path. */
export const PATHS = [
  'x/../../../../../canary/owned',
  'x/../../../../../../canary/owned',
  '/../../../../../package',
  '../canary/owned.json',
  '../../../../../../../../../../canary/package',
  '..\\..\\..\\canary\\owned',
  '..%2f..%2f..%2fcanary%2fowned',
  '.',
  '..',
  '/',
  '\u0000',
  'con',
  '$(touch ../canary/run)',
  '*',
  '?start=start',
  '#',
  '1/points?x=',
] as const;

/** As JSON and CSV may write them; not all of them are numbers. */
export const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1.0',
  '1e3',
  '1e400',
  '-1e-400',
  '0x10',
  '007',
  '+1',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '18446744073709551616',
  '99999999999999999999999999999999',
  '1'.repeat(400),
  '253402300799999',
  '253402300800000',
  '-62135596800001',
  '8640000000000001',
  'NaN',
  'Infinity',
  '1_000',
  '1,5',
  '٣',
] as const;

export const TEXTS = [
  '',
  ' ',
  'null',
  'true',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '\u2028',
  'a\u2029b',
  '\u0085',
  '\u000b\u000c',
  '\u0000',
  'a\u0000b',
  '\u001b[31m',
  '\ufeff',
  '\ufffd',
  '\ufffe\uffff',
  '\u202e\u2066',
  'a\rb',
  'a\r\nb',
  'a\nb',
  '\t',
  '"',
  '""',
  '\\',
  '\\u0000',
  '\\ud800',
  "'; DROP TABLE users; --",
  '=HYPERLINK("http://x.example/","x")',
  '<script>alert(1)</script>',
  '&#0;&#x110000;&lt;&nbsp;',
  ']]>',
  '%00',
  'İ@B.example',
  'i̇@b.example',
  'ß'.repeat(50),
  '🙂'.repeat(200),
  'e\u0301'.repeat(100),
  '2024-02-30T00:00:00Z',
  '2024-01-01T00:00:00',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '10000-01-01T00:00:00Z',
  '2024-01-01T24:00:00Z',
  '2016-12-31T23:59:60Z',
  '2024-01-01T00:00:00.123456789+14:00',
  '2024-01-01T00:00:00+99:99',
  '31/02/24, 25:61',
  'pin',
  'board',
  '[]',
  '{}',
  '[1,2',
  'mailto:',
  'mailto:a@b',
  'http://[::1',
  'urn:uuid:',
  'javascript:alert(1)',
  'data:,x',
] as const;

const LENGTHS = [65, 321, 1025, 4097, 65_537, 300_000] as const;

/** About one in a hundred is long. */
export function hostileText(random: Random): string {
  const kind = random.below(100);
  if (kind < 2) return random.pick(['a', 'é', '"', '\\', '[', '🙂']).repeat(random.pick(LENGTHS));
  if (kind < 20) return random.pick(PATHS);
  if (kind < 45) return random.pick(NUMBERS);
  if (kind < 55) return `${random.pick(TEXTS)}${random.pick(TEXTS)}`;
  return random.pick(TEXTS);
}

/** A JSON value as text, mostly valid. */
export function hostileJson(random: Random): string {
  const kind = random.below(20);
  if (kind < 7) return JSON.stringify(hostileText(random));
  if (kind < 12) return random.pick(NUMBERS);
  if (kind === 12) return nested(random);
  if (kind === 13) return `"\\u${random.pick(['d800', 'dc00', '0000', '2028', '001b', 'zzzz'])}"`;
  return random.pick([
    'null',
    'true',
    'false',
    '{}',
    '[]',
    '""',
    '[[]]',
    '[null]',
    '{"id":1}',
    '{"":{}}',
    'undefined',
  ]);
}

/** So deep that a recursive reader runs out of stack. */
function nested(random: Random): string {
  const depth = random.pick([10, 100, 3_000, 9_000, 20_000]);
  return random.below(2) === 0
    ? `${'['.repeat(depth)}${']'.repeat(depth)}`
    : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}
