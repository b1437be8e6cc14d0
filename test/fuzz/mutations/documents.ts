/**
 * Mutated copies of a set of files: most changes fit the form of each file, and some fit no form at
 * all.
 */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { Random } from '../../../bench/random.ts';
import { type ChangeBytes, changeBytes } from './bytes.ts';
import { changeCsv } from './csv.ts';
import { mutateJson } from './json.ts';
import { changeXml } from './xml.ts';

/** By name; the extension determines the form. */
export type Files = Readonly<Record<string, Buffer>>;

/** The percentage of changes that fit the form. */
const KNOWING = 75;
const MOST_CHANGES = 6;

/** Changes at least one file, at least once. */
export function mutateFiles(random: Random, files: Files): Files {
  const changed: Record<string, Buffer> = { ...files };
  const names = Object.keys(files);
  for (let count = 1 + random.skewed(MOST_CHANGES); count > 0; count--) {
    const name = random.pick(names);
    const other = files[random.pick(names)] ?? Buffer.alloc(0);
    changed[name] = mutateFile(random, name, changed[name] ?? Buffer.alloc(0), other);
  }
  return random.below(40) === 0 ? renamed(random, changed) : changed;
}

function mutateFile(random: Random, name: string, bytes: Buffer, other: Buffer): Buffer {
  const change = random.below(100) < KNOWING ? knowingChange(name) : changeBytes;
  return change(random, bytes, other);
}

function knowingChange(name: string): ChangeBytes {
  if (name.endsWith('.csv')) return changeCsv;
  if (name.endsWith('.xml')) return changeXml;
  if (name.endsWith('.ndjson')) return changeJsonLine;
  if (name.endsWith('.json')) return changeJson;
  return changeBytes;
}

const changeJson: ChangeBytes = (random, bytes, other) => {
  const text = mutateJson(random, bytes.toString('utf8'));
  return text === undefined ? changeBytes(random, bytes, other) : Buffer.from(text);
};

const changeJsonLine: ChangeBytes = (random, bytes, other) => {
  const lines = bytes.toString('utf8').split('\n');
  const at = random.below(lines.length);
  const line = mutateJson(random, lines[at] ?? '');
  if (line === undefined) return changeBytes(random, bytes, other);
  if (random.below(5) === 0) lines.splice(at, 0, line);
  else lines[at] = line;
  return Buffer.from(lines.join('\n'));
};

const ENDINGS = ['.csv', '.ndjson', '.json', '.xml', '.parquet', '.gz', '.zst', '.txt', ''];

/** Gives one file a misleading or unusual name, or compresses it. */
function renamed(random: Random, files: Files): Files {
  const name = random.pick(Object.keys(files));
  const { [name]: bytes = Buffer.alloc(0), ...rest } = files;
  const stem = name.replace(/\..*/, '');
  return random.pick<() => Files>([
    () => ({ ...rest, [`${stem}${random.pick(ENDINGS)}`]: bytes }),
    () => ({ ...rest, [`${name}.gz`]: gzipSync(bytes) }),
    () => ({ ...rest, [`${name}.zst`]: zstdCompressSync(bytes) }),
    () => ({ ...rest, [`${name}.gz`]: zstdCompressSync(bytes) }),
    () => ({ ...rest, [name.replace('.', '-\u202e\n*[?].')]: bytes }),
  ])();
}
