/** Changes to any bytes, whatever they mean. */
import type { Random } from '../../../bench/random.ts';
import { hostileText } from './values.ts';

export type ChangeBytes = (random: Random, bytes: Buffer, other: Buffer) => Buffer;

const SEPARATORS = [
  '\n',
  '\r',
  '\r\n',
  '\u2028',
  '\u2029',
  '\u0085',
  '\0',
  ',',
  ';',
  '\t',
  '"',
  '{',
  '[',
  '<',
  '&',
];

/** A position in the bytes, including the end. */
function placeIn(random: Random, bytes: Buffer): number {
  return random.below(bytes.length + 1);
}

function replaced(bytes: Buffer, from: number, to: number, by: Buffer | string): Buffer {
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(by), bytes.subarray(to)]);
}

const flipBits: ChangeBytes = (random, bytes) => {
  const changed = Buffer.from(bytes);
  for (let count = 1 + random.skewed(16); count > 0 && changed.length > 0; count--) {
    const at = random.below(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
  }
  return changed;
};

const truncate: ChangeBytes = (random, bytes) => bytes.subarray(0, placeIn(random, bytes));

const removeRange: ChangeBytes = (random, bytes) => {
  const from = placeIn(random, bytes);
  return replaced(bytes, from, from + 1 + random.skewed(200), '');
};

const repeatRange: ChangeBytes = (random, bytes) => {
  const from = placeIn(random, bytes);
  const range = bytes.subarray(from, from + 1 + random.skewed(400));
  const times = random.pick([1, 2, 100]);
  return replaced(bytes, from, from, Buffer.concat(Array.from({ length: times }, () => range)));
};

const splice: ChangeBytes = (random, bytes, other) => {
  const from = placeIn(random, other);
  const range = other.subarray(from, from + 1 + random.skewed(2_000));
  const at = placeIn(random, bytes);
  return replaced(bytes, at, at + random.pick([0, range.length]), range);
};

const insertText: ChangeBytes = (random, bytes) => {
  const at = placeIn(random, bytes);
  return replaced(bytes, at, at, hostileText(random));
};

const insertSeparator: ChangeBytes = (random, bytes) => {
  const at = placeIn(random, bytes);
  return replaced(bytes, at, at + random.below(2), random.pick(SEPARATORS));
};

const insertBytes: ChangeBytes = (random, bytes) => {
  const at = placeIn(random, bytes);
  const values = Array.from({ length: 1 + random.skewed(8) }, () =>
    random.pick([0, 255, 128, 192, 237, 240, random.below(256)]),
  );
  return replaced(bytes, at, at, Buffer.from(values));
};

const appendOther: ChangeBytes = (random, bytes, other) =>
  Buffer.concat(random.below(2) === 0 ? [bytes, other] : [other, bytes]);

/** Only a few encodings, because most of the results are not read any further. */
const anotherEncoding: ChangeBytes = (random, bytes) => {
  const text = bytes.toString('utf8');
  return random.pick([
    () => Buffer.from(text, 'latin1'),
    () => Buffer.from(`\ufeff${text}`, 'utf16le'),
    () => Buffer.from(`\ufeff${text}`, 'utf8'),
    () => Buffer.from(`\ufeff\ufeff${text}`, 'utf8'),
    () => Buffer.from(text.replaceAll('\n', '\r')),
    () => Buffer.from(text.replaceAll('\n', '\r\n')),
  ])();
};

const CHANGES: readonly ChangeBytes[] = [
  flipBits,
  flipBits,
  truncate,
  removeRange,
  repeatRange,
  splice,
  insertText,
  insertSeparator,
  insertSeparator,
  insertBytes,
  appendOther,
  anotherEncoding,
];

export const changeBytes: ChangeBytes = (random, bytes, other) => random.pick(CHANGES)(random, bytes, other);
