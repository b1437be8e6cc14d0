/**
 * Rules of time zones from compiled files (TZif, RFC 9636), such as those that the operating system
 * keeps current in `/usr/share/zoneinfo`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FindStretch, Stretch, ZoneRules } from '../domain/zone.ts';
import { posixRule } from './posix-zone.ts';

/** Folders of the same zones: with leap seconds, and the zones once more. */
const OTHER_FORMS = new Set(['right', 'posix']);
const NAME = /^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/;
/** Files that are no zones: what the machine or a rule without a zone uses. */
const NO_ZONES = new Set(['localtime', 'posixrules', 'posix_rules', 'factory']);
const HEADER_BYTES = 44;

/** A clock change, in Unix milliseconds, and the offset from then on. */
export interface ClockChange {
  readonly atMs: number;
  readonly offsetMs: number;
}

/** What a file contains. */
interface ZoneFile {
  /** The offset before the first change. */
  readonly firstMs: number;
  /** Ascending. */
  readonly changes: readonly ClockChange[];
  /** The rule after the last change, as in the variable `TZ`; empty: the offset stays. */
  readonly rule: string;
}

/**
 * Reads all files at once, because an update of the system replaces them one after the other.
 * Undefined if the folder has none. Files with leap seconds are left out: their clock is not that
 * of Unix time.
 */
export function openZoneFiles(folder: string): ZoneRules | undefined {
  const files = new Map<string, ZoneBlock>();
  for (const name of namesIn(folder)) {
    if (!NAME.test(name) || NO_ZONES.has(name.toLowerCase())) continue;
    const data = dataOf(readFileSync(join(folder, name)));
    if (data?.leap === 0) files.set(name.toLowerCase(), data);
  }
  if (files.size === 0) return undefined;
  const known = new Map<string, FindStretch>();
  return {
    version: versionIn(folder) ?? 'unknown',
    find(name) {
      const key = name.toLowerCase();
      const data = files.get(key);
      const find = known.get(key) ?? (data && findIn(readZoneFile(data)));
      if (find !== undefined) known.set(key, find);
      return find;
    },
  };
}

/** The version of the files in a folder; undefined if they do not tell. */
export function versionIn(folder: string): string | undefined {
  // The first line of the source that is installed with the files, or the file that macOS has.
  const source = /^# version (\S+)/.exec(textOf(join(folder, 'tzdata.zi')))?.[1];
  return source ?? (textOf(join(folder, '+VERSION')).trim() || undefined);
}

function namesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry;
    if (!entry.isDirectory()) return [name];
    if (OTHER_FORMS.has(name)) return [];
    return namesIn(join(folder, name)).map((below) => `${name}/${below}`);
  });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

/**
 * Where the parts of a block of data are, by the size of its times in bytes. Undefined: there is no
 * block.
 */
function blockAt(bytes: Buffer, at: number, timeBytes: 4 | 8) {
  if (bytes.length < at + HEADER_BYTES || bytes.toString('latin1', at, at + 4) !== 'TZif') return undefined;
  // The number of UT indicators, of standard ones, of leap seconds, of changes, of offsets, and of
  // characters.
  const [ut = 0, standard = 0, leap = 0, times = 0, types = 0, characters = 0] = [0, 1, 2, 3, 4, 5].map(
    (place) => bytes.readUInt32BE(at + 20 + 4 * place),
  );
  const start = at + HEADER_BYTES;
  const typesAt = start + times * (timeBytes + 1);
  const end = typesAt + types * 6 + characters + leap * (timeBytes + 4) + standard + ut;
  return { bytes, start, times, typesAt, end, leap, timeBytes };
}

type ZoneBlock = NonNullable<ReturnType<typeof blockAt>>;

/** The block with the widest times. Files of version 1 have only short ones. */
function dataOf(bytes: Buffer): ZoneBlock | undefined {
  const short = blockAt(bytes, 0, 4);
  return short === undefined || bytes[4] === 0 ? short : blockAt(bytes, short.end, 8);
}

function readZoneFile({ bytes, start, times, typesAt, end, timeBytes }: ZoneBlock): ZoneFile {
  const isLong = timeBytes === 8;
  const offsetOf = (type: number) => bytes.readInt32BE(typesAt + 6 * type) * 1000;
  const changes = Array.from({ length: times }, (_, place) => {
    const at = start + place * timeBytes;
    const seconds = isLong ? Number(bytes.readBigInt64BE(at)) : bytes.readInt32BE(at);
    return { atMs: seconds * 1000, offsetMs: offsetOf(bytes[start + times * timeBytes + place] ?? 0) };
  });
  // Files of version 1 have none.
  const rule = isLong ? bytes.toString('latin1', end).split('\n')[1] : '';
  return { firstMs: offsetOf(0), changes, rule: rule ?? '' };
}

function findIn({ firstMs, changes, rule }: ZoneFile): FindStretch {
  const first: ClockChange = { atMs: Number.NEGATIVE_INFINITY, offsetMs: firstMs };
  const listed = withoutRepeated([first, ...changes]);
  const lastMs = changes.at(-1)?.atMs ?? first.atMs;
  const lastListedMs = listed.at(-1)?.atMs ?? first.atMs;
  const changesOf = rule === '' ? () => [] : posixRule(rule);
  return (ms) => {
    if (ms < lastListedMs) return stretchIn(listed, ms);
    const year = new Date(Math.max(ms, lastMs)).getUTCFullYear();
    const later = [year - 1, year, year + 1].flatMap(changesOf).filter(({ atMs }) => atMs > lastMs);
    return stretchIn(withoutRepeated([...listed, ...later]), ms);
  };
}

/** Some changes alter only the name of the time. */
function withoutRepeated(changes: readonly ClockChange[]): readonly ClockChange[] {
  return changes.filter(({ offsetMs }, place) => offsetMs !== changes[place - 1]?.offsetMs);
}

/** `changes`: ascending; the first one is before all instants. */
function stretchIn(changes: readonly ClockChange[], ms: number): Stretch {
  const place = changes.findLastIndex(({ atMs }) => atMs <= ms);
  const { atMs = Number.NEGATIVE_INFINITY, offsetMs = 0 } = changes[place] ?? {};
  return { fromMs: atMs, toMs: changes[place + 1]?.atMs ?? Number.POSITIVE_INFINITY, offsetMs };
}
