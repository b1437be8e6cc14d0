/**
 * The table of limits (decision 60): what keys, organizations and a process may hold at the same
 * time. The command line, docs/operations.md and the tests take names, units and defaults from it.
 */
import { freeDiskBytes } from '../../system/free-disk.ts';
import { freeMemory } from '../../system/machine-memory.ts';

/**
 * Decides how a value is written: `32`, `64MB`, `16k`, `60s`. Durations are held in milliseconds.
 */
export type LimitUnit = 'count' | 'bytes' | 'bytes/s' | 'duration';

/** A number, or a share of another limit, or a share of the machine divided by the processes. */
type DefaultValue =
  | number
  | { readonly share: number; readonly of: string }
  | { readonly share: number; readonly ofFree: 'memory' | 'disk'; readonly least: number };

interface Limit {
  readonly unit: LimitUnit;
  readonly default: DefaultValue;
  readonly help: string;
}

/** Approximate memory of an open organization, in addition to its data in memory. */
const OPEN_BYTES = 32e6;
const QUARTER_OF_MEMORY = { share: 1 / 4, ofFree: 'memory', least: 96e6 } as const;

export const LIMITS = {
  'open-organizations': {
    unit: 'count',
    default: { share: 1 / OPEN_BYTES, ofFree: 'memory', least: 64 },
    help: 'open organizations; opening one more closes the least recently used one',
  },
  responses: {
    unit: 'count',
    default: 256,
    help: 'large responses (above 256 KiB) in progress',
  },
  'responses-per-organization': { unit: 'count', default: 64, help: 'the same, per organization' },
  'responses-per-key': { unit: 'count', default: 32, help: 'the same, per key' },
  'response-memory': {
    unit: 'bytes',
    default: QUARTER_OF_MEMORY,
    help: 'memory of large responses in progress',
  },
  'response-memory-per-organization': {
    unit: 'bytes',
    default: { share: 1 / 2, of: 'response-memory' },
    help: 'the same, per organization',
  },
  'response-memory-per-key': {
    unit: 'bytes',
    default: { share: 1 / 4, of: 'response-memory' },
    help: 'the same, per key',
  },
  'parquet-files': {
    unit: 'count',
    default: 6,
    help: 'Parquet files of more than 2,048 rows, and responses up to a range, being made',
  },
  'parquet-files-per-organization': { unit: 'count', default: 3, help: 'the same, per organization' },
  'parquet-files-per-key': {
    unit: 'count',
    default: 2,
    help: 'the same, per key; a further file waits for the earlier files of its key',
  },
  'parquet-disk': {
    unit: 'bytes',
    default: { share: 1 / 2, ofFree: 'disk', least: 0 },
    help: 'disk space of Parquet responses, in temporary files until they are sent',
  },
  'parquet-disk-per-organization': {
    unit: 'bytes',
    default: { share: 1 / 2, of: 'parquet-disk' },
    help: 'the same, per organization',
  },
  'parquet-disk-per-key': {
    unit: 'bytes',
    default: { share: 1 / 2, of: 'parquet-disk' },
    help: 'the same, per key',
  },
  streams: { unit: 'count', default: 3_072, help: 'live streams' },
  'streams-per-organization': { unit: 'count', default: 1_536, help: 'the same, per organization' },
  'streams-per-key': { unit: 'count', default: 1_024, help: 'the same, per key' },
  connections: { unit: 'count', default: 4_096, help: 'connections; further ones are closed immediately' },
  'connections-per-organization': {
    unit: 'count',
    default: 2_048,
    help: 'connections per organization, by the last key sent on each',
  },
  'connections-per-key': {
    unit: 'count',
    default: 1_536,
    help: 'connections per key, by the last key sent on each',
  },
  'connections-without-key': {
    unit: 'count',
    default: 1_024,
    help: 'connections without a valid key so far; one more closes the oldest idle one',
  },
  'keep-alive-without-key': {
    unit: 'duration',
    default: 5_000,
    help: 'how long a connection without a valid key so far may be idle',
  },
  queries: {
    unit: 'count',
    default: 6,
    help: 'concurrent queries to the store for data not in memory; further ones wait, and the organization with the fewest goes first',
  },
  'queries-per-organization': { unit: 'count', default: 3, help: 'the same, per organization' },
  'least-rate': {
    unit: 'bytes/s',
    default: 16_000,
    help: 'lowest rate at which a client may read a large response before it is cut; 0 allows any rate',
  },
  'least-rate-after': {
    unit: 'duration',
    default: 60_000,
    help: 'how long a client may read more slowly than least-rate',
  },
  'stalled-after': {
    unit: 'duration',
    default: 120_000,
    help: 'how long a client may read nothing at all of a response',
  },
  'replaced-age': {
    unit: 'duration',
    default: 3_600_000,
    help: 'how long a response may continue to read a replaced version',
  },
  'replaced-versions': {
    unit: 'count',
    default: 64,
    help: 'replaced versions kept open by responses; beyond the limit, responses from the oldest version are cut',
  },
  'replaced-versions-per-organization': {
    unit: 'count',
    default: 16,
    help: 'the same, per organization',
  },
  'replaced-memory': {
    unit: 'bytes',
    default: QUARTER_OF_MEMORY,
    help: 'memory of replaced versions kept open by responses',
  },
  'replaced-memory-per-organization': {
    unit: 'bytes',
    default: { share: 1 / 2, of: 'replaced-memory' },
    help: 'the same, per organization',
  },
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof LIMITS;
export type Limits = Readonly<Record<LimitName, number>>;

export const LIMIT_NAMES = Object.keys(LIMITS).filter(isLimitName);

export function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(LIMITS, name);
}

/** Bytes that are free on the machine now. */
export interface Free {
  readonly memory: number;
  /** In the folder for temporary files. */
  readonly disk: number;
}

function measureFree(): Free {
  return { memory: freeMemory(), disk: freeDiskBytes() };
}

/** The limits of one of `processes` processes: the given ones, and defaults for the others. */
export function resolveLimits(
  given: Partial<Limits> = {},
  processes = 1,
  free: Free = measureFree(),
): Limits {
  const limitOf = (name: string): number => {
    if (!isLimitName(name)) throw new Error(`There is no limit ${name}.`);
    const { default: value }: Limit = LIMITS[name];
    const present = given[name];
    if (present !== undefined) return present;
    if (typeof value === 'number') return value;
    if ('of' in value) return Math.floor(limitOf(value.of) * value.share);
    return Math.max(value.least, Math.floor((free[value.ofFree] * value.share) / processes));
  };
  const values = LIMIT_NAMES.map((name) => [name, limitOf(name)]);
  return Object.fromEntries(values) as Limits;
}

/** The default in words, as in the help and in docs/operations.md. */
export function renderDefault(name: LimitName): string {
  const { unit, default: value }: Limit = LIMITS[name];
  if (typeof value === 'number') return renderValue(unit, value);
  if (unit === 'count' && 'ofFree' in value) {
    const bytes = renderValue('bytes', 1 / value.share);
    return `one per ${bytes} of free ${value.ofFree} at startup, divided by the number of workers, at least ${value.least}`;
  }
  const share = value.share === 1 / 2 ? 'half' : 'a quarter';
  if ('of' in value) return `${share} of ${value.of}`;
  const least = value.least === 0 ? '' : `, at least ${renderValue(unit, value.least)}`;
  return `${share} of the free ${value.ofFree} at startup, divided by the number of workers${least}`;
}

/** A value as written on the command line. */
export function renderValue(unit: LimitUnit, value: number): string {
  if (unit === 'count') return value.toLocaleString('en-US', { useGrouping: false });
  if (unit === 'duration') return value % 3_600_000 === 0 ? `${value / 3_600_000}h` : `${value / 1000}s`;
  return value % 1e6 === 0 && value > 0 ? `${value / 1e6}MB` : `${value / 1000}k`;
}
