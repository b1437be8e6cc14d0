/**
 * Readers of option values. Each converts the text from the command line, or throws an error whose
 * message says what is expected (exit code 2). No reader has to refuse an empty text:
 * `refuseLostValues` does so for all options.
 */
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import { parseIdentifier } from '../../domain/identifier.ts';
import { LATEST_INSTANT_MS, parseInstant } from '../../domain/instant.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { addressOf, isNetwork } from '../../domain/network.ts';
import { REDACTABLE, type Redaction } from '../../domain/redaction.ts';
import { isLmsProperty, LMS_PREFIX } from '../../ingest/fields/schema.ts';
import type { Expiry, RateLimit } from '../../keys/keyring.ts';
import { isLimitName, LIMIT_NAMES, LIMITS, type LimitName, type Limits } from '../../server/limits/limits.ts';
import { LEAST_BUILD_BYTES } from '../../store/build-memory.ts';
import { checkPlaceAddress, IN_DATABASE } from '../../store/chunks/places.ts';
import { isLine, LINE_RULE } from '../../store/organization-name.ts';
import { REPLACEABLE_KINDS, type ReplaceableKind } from '../../store/staging.ts';
import type { Period, RuleChanges } from '../../store/store.ts';

const DAY_MS = 86_400_000;
const UNITS_MS = new Map([
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]);
const UNITS_SECONDS = new Map([
  ['second', 1],
  ['minute', 60],
  ['hour', 3600],
]);
const UNITS_BYTES = new Map([
  ['k', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
]);
const MOST_WORKERS = 256;
const MOST_VERSIONS = 1000;
const ADDRESS = /^[a-z][a-z\d+.-]*:\/\//i;
/** Readers for which an empty text has a meaning that lifts no restriction. */
const READS_EMPTY: ReadonlySet<unknown> = new Set([
  readBoards,
  readDatabase,
  readLine,
  readLmsSplits,
  readNames,
  readUsers,
]);

/** Readers of lists that do not add a second one to the first. */
const READS_ONE_LIST: ReadonlySet<unknown> = new Set([
  readBoards,
  readRecords,
  readLmsSplits,
  readNames,
  readNetworks,
  readRedaction,
  readReplaced,
  readUsers,
]);

/**
 * Makes all options of a command and of its subcommands refuse an empty or blank value, which is
 * usually a variable of a script that is not set, and a second list, with which the first would be
 * ignored: what an option limits, or whom a command erases, must not be lost.
 */
export function refuseLostValues(command: Command): void {
  for (const option of command.options) {
    const { parseArg: read } = option;
    if (!option.required && !option.optional) continue;
    let isGiven = false;
    option.argParser((text, previous: unknown) => {
      if (text.trim() === '' && !READS_EMPTY.has(read))
        throw new InvalidArgumentError('It is empty. Give a value, or leave the option out.');
      if (isGiven && READS_ONE_LIST.has(read))
        throw new InvalidArgumentError('It is given twice. Give one list, with commas.');
      isGiven = true;
      return read === undefined ? text : read(text, previous);
    });
  }
  for (const below of command.commands) refuseLostValues(below);
}

export function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Infinity;
  if (port > 65_535)
    throw new InvalidArgumentError('A port is a number from 0 to 65535; 0 takes any free port.');
  return port;
}

export function readWorkers(text: string): number {
  const workers = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : Infinity;
  if (workers > MOST_WORKERS)
    throw new InvalidArgumentError(`The number of workers is 1 to ${MOST_WORKERS}; 1 is a single process.`);
  return workers;
}

/** Converts sizes like `512MB`, `2GB` or `0` to bytes. */
export function readSize(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})(k|MB|GB)$/.exec(text) ?? [];
  const unitBytes = UNITS_BYTES.get(unit);
  if (text !== '0' && unitBytes === undefined)
    throw new InvalidArgumentError('A size is a number with a unit, like 512MB or 2GB, or 0.');
  return unitBytes === undefined ? 0 : Number(count) * unitBytes;
}

/** The size of memory that suffices for building a version. */
export function readBuildMemory(text: string): number {
  const bytes = readSize(text);
  if (bytes < LEAST_BUILD_BYTES)
    throw new InvalidArgumentError(`It takes at least ${LEAST_BUILD_BYTES / 1e6}MB.`);
  return bytes;
}

/** A data folder. The error does not repeat the text, because a URL may contain a password. */
export function readDataFolder(text: string): string {
  if (!ADDRESS.test(text)) return text;
  throw new AppError(
    'option-malformed',
    'The data folder (--data or CORKBOARD_DATA) is not a URL. Name a database with --database or CORKBOARD_DATABASE.',
  );
}

/**
 * URL of a PostgreSQL database; empty for none. The error does not repeat the text, because it may
 * contain a password.
 */
export function readDatabase(text: string): string {
  if (text !== '') checkDatabaseUrl(text, 'The database (--database or CORKBOARD_DATABASE)');
  return text;
}

/**
 * The place for chunks in the form that the catalog stores: the address of a bucket, the absolute
 * path of a folder, or `IN_DATABASE`.
 */
export function readBucket(text: string): string {
  const address = text === 'database' ? IN_DATABASE : ADDRESS.test(text) ? text : resolve(text);
  checkPlaceAddress(address);
  return address;
}

/** The source or target of a copy of organizations: the URL of a database, or a folder. */
export function readPlace(text: string): { readonly database: string } | { readonly data: string } {
  if (!ADDRESS.test(text)) return { data: text };
  checkDatabaseUrl(text, 'Name a folder or a database; a database');
  return { database: text };
}

/** Kinds of records that an import replaces as a whole. */
export function readReplaced(text: string): readonly ReplaceableKind[] {
  return text.split(',').map((name) => {
    const kind = REPLACEABLE_KINDS.find((each) => each === name.trim());
    if (kind === undefined)
      throw new InvalidArgumentError(`It takes comma-separated kinds: ${REPLACEABLE_KINDS.join(', ')}.`);
    return kind;
  });
}

/** Adds one name to the earlier ones; each name occurs once. */
export function readName(text: string, previous: readonly string[] = []): readonly string[] {
  return [...new Set([...previous, text])];
}

function checkDatabaseUrl(url: string, subject: string): void {
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return;
  throw new AppError(
    'option-malformed',
    `${subject} is a URL like postgres://corkboard@db.example.org/corkboard.`,
  );
}

export function readIdentifier(text: string): bigint {
  const id = parseIdentifier(text.trim());
  if (id === undefined) throw new InvalidArgumentError('An id is an integer of at most 64 bits.');
  return id;
}

/** The id of a user or board, or how people name it; `withIds` finds the id. */
export type RecordName = bigint | { readonly name: string };

export function readRecord(text: string): RecordName {
  const name = text.trim();
  if (name === '') throw new InvalidArgumentError('It is empty.');
  return /^[+-]?\d+$/.test(name) ? readIdentifier(name) : { name };
}

/** Comma-separated, each once, ids in ascending order. Empty text: empty list. */
export function readRecords(text: string): readonly RecordName[] {
  const records = readList(text).map(readRecord);
  const ids = records.filter((one) => typeof one === 'bigint');
  const names = records.filter((one) => typeof one !== 'bigint');
  return [...[...new Set(ids)].sort((one, other) => (one < other ? -1 : 1)), ...names];
}

export function readBoards(text: string): 'all' | readonly RecordName[] {
  return text === 'all' ? text : readRecords(text);
}

export function readUsers(text: string): 'all' | 'of-boards' | readonly RecordName[] {
  return text === 'all' || text === 'of-boards' ? text : readRecords(text);
}

/** Comma-separated names of fields; `none` redacts nothing. */
export function readRedaction(text: string): Redaction {
  const names = text === 'none' ? [] : readList(text);
  if (!names.every((name) => REDACTABLE.some((field) => field === name)))
    throw new InvalidArgumentError('Give any of email, name and id, separated by commas, or none.');
  return { email: names.includes('email'), name: names.includes('name'), id: names.includes('id') };
}

/** Comma-separated names, returned without duplicates. Empty text: empty list. */
export function readNames(text: string): readonly string[] {
  return [...new Set(readList(text))];
}

/**
 * Comma-separated names of LMS properties. A name that no property has would split nothing, and no
 * response would tell. `none` would permit a property where it removes a restriction elsewhere.
 */
export function readLmsSplits(text: string): readonly string[] {
  const names = readNames(text);
  for (const name of names) {
    if (name.startsWith(LMS_PREFIX))
      throw new InvalidArgumentError(`Leave out ${LMS_PREFIX}, which is only in names of import fields.`);
    if (name === 'none') throw new InvalidArgumentError('Use "" for no property.');
    if (!isLmsProperty(name))
      throw new InvalidArgumentError('A name has 1 to 64 printable characters without white space.');
  }
  return names;
}

export function readSwitch(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new InvalidArgumentError('Use on or off.');
  return text === 'on';
}

export function readLine(text: string): string {
  if (!isLine(text)) throw new InvalidArgumentError(`Use ${LINE_RULE}.`);
  return text;
}

/** Converts durations like `45s`, `15m`, `12h` or `30d` to milliseconds. */
export function readDuration(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === undefined)
    throw new InvalidArgumentError('A duration is a number with a unit, like 45s, 15m, 12h or 7d.');
  return durationMs;
}

/** The longest life of keys in milliseconds, or `none`. */
export function readLongestLife(text: string): number | 'none' {
  return text === 'none' ? text : readLife(text);
}

function readLife(text: string): number {
  const lifeMs = readDuration(text);
  if (lifeMs === 0) throw new InvalidArgumentError('Use a duration above 0, like 365d.');
  return lifeMs;
}

/** A number of versions, or the time for which they are kept; `default` resets both. */
export function readKeptVersions(text: string): RuleChanges {
  if (text === 'default') return { keptVersions: undefined, keptVersionsMs: undefined };
  if (!/^\d+$/.test(text)) return { keptVersions: undefined, keptVersionsMs: readLife(text) };
  const count = Number(text);
  if (count < 1 || count > MOST_VERSIONS)
    throw new InvalidArgumentError(`Use 1 to ${MOST_VERSIONS} versions, a duration like 30d, or default.`);
  return { keptVersions: count, keptVersionsMs: undefined };
}

/** A period like `24 months`, `2 years` or `400d`, or `none`. */
export function readKeptEvents(text: string): Period | 'none' {
  if (text === 'none') return text;
  const [, digits, unit = ''] = /^([1-9]\d{0,4}) ?(d|days?|months?|years?)$/.exec(text) ?? [];
  if (digits === undefined)
    throw new InvalidArgumentError('A period is like "24 months", "2 years" or 400d; none keeps all events.');
  if (unit.startsWith('d')) return { days: Number(digits) };
  return { months: Number(digits) * (unit.startsWith('y') ? 12 : 1) };
}

/** Converts seconds, with up to three decimal places, to milliseconds. */
export function readSeconds(text: string): number {
  const seconds = /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (seconds === 0) throw new InvalidArgumentError('Give a number of seconds above 0, like 5 or 0.5.');
  return seconds * 1000;
}

/** In milliseconds. */
export function readInstant(text: string): number {
  const instantMs = parseInstant(text);
  if (instantMs !== undefined) return instantMs;
  throw new InvalidArgumentError('It must be an instant like 2026-11-01T00:00:00Z.');
}

/**
 * The instant at which a key expires: after a duration from now, at a date-time with an offset, or,
 * for a date, at the end of that day in UTC. It may be in the past.
 */
export function readExpiry(text: string, nowMs: number): Expiry {
  if (text === 'never') return text;
  const durationMs = parseDuration(text);
  const instantMs = durationMs === undefined ? parseDateOrInstant(text) : nowMs + durationMs;
  if (instantMs === undefined || instantMs > LATEST_INSTANT_MS) {
    throw new InvalidArgumentError(
      'Use a duration (30d, 12h, 15m, 45s), a date (2027-01-31: until the end of that day in UTC), ' +
        'a date-time with an offset (2027-01-31T17:00:00+01:00), or never.',
    );
  }
  return instantMs;
}

/** A rate limit like `100/minute`, or `default` for the default of the server. */
export function readRateLimitOrDefault(text: string): RateLimit | 'default' {
  return text === 'default' ? text : readRateLimit(text);
}

/** A rate limit like `100/minute`. */
export function readRateLimit(text: string): RateLimit {
  const [, requests = '', unit = ''] = /^([1-9]\d{0,8})\/(\w+)$/.exec(text) ?? [];
  const perSeconds = UNITS_SECONDS.get(unit);
  if (perSeconds === undefined) {
    throw new InvalidArgumentError('A rate limit is a number per second, minute or hour, like 100/minute.');
  }
  return { requests: Number(requests), perSeconds };
}

/**
 * Adds limits, written as `name=value` and separated by spaces, to the earlier ones. For each name,
 * the last value counts.
 */
export function readLimits(text: string, previous: Partial<Limits> = {}): Partial<Limits> {
  const words = text.split(/\s+/).filter((word) => word !== '');
  return { ...previous, ...Object.fromEntries(words.map(readLimit)) };
}

function readLimit(text: string): [LimitName, number] {
  const [, name = '', value] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  if (value === undefined) throw new InvalidArgumentError('A limit is a name and a value, like streams=100.');
  if (isLimitName(name)) return [name, readLimitValue(name, value)];
  const nearest = nearestName(name, LIMIT_NAMES);
  const hint = nearest === undefined ? '"corkboard serve --help" lists them' : `did you mean ${nearest}`;
  throw new InvalidArgumentError(`There is no limit ${name}; ${hint}.`);
}

function readLimitValue(name: LimitName, text: string): number {
  const { unit } = LIMITS[name];
  if (unit === 'duration') return readDuration(text);
  if (unit !== 'count') return readSize(text);
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`${name} must be a number from 0 to 9999999.`);
}

/** Adds comma-separated origins to the earlier ones. */
export function readOrigins(text: string, previous: readonly string[] = []): readonly string[] {
  const origins = readList(text);
  if (!origins.every((one) => URL.canParse(one) && new URL(one).origin === one)) {
    throw new InvalidArgumentError('An origin is a scheme and a host, like https://dashboard.example.org.');
  }
  return [...previous, ...origins];
}

/** Adds addresses and networks (CIDR) to the earlier ones. */
export function readProxies(text: string, previous: readonly string[] = []): readonly string[] {
  const proxies = readList(text);
  if (!proxies.every(isNetwork)) {
    throw new InvalidArgumentError(
      'Proxies are comma-separated addresses or networks, like 127.0.0.1, 10.0.0.0/8 or fd00::/8.',
    );
  }
  return [...previous, ...proxies];
}

/** Comma-separated addresses and networks (CIDR), each once; `any` for all. */
export function readNetworks(text: string): readonly string[] | 'any' {
  if (text.trim() === 'any') return 'any';
  const networks = readNames(text);
  if (!networks.every((one) => isNetwork(one) && !isMappedNetwork(one))) {
    throw new InvalidArgumentError(
      'Networks are comma-separated addresses or networks, like 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32; any for all addresses.',
    );
  }
  return networks;
}

/** A network of IPv4 addresses that looks like one of IPv6 addresses (decision 84). */
function isMappedNetwork(network: string): boolean {
  const [address = ''] = network.split('/');
  return address.includes(':') && addressOf(address)?.includes(':') === false;
}

function readList(text: string): readonly string[] {
  const items = text.trim() === '' ? [] : text.split(',').map((item) => item.trim());
  if (items.includes('')) throw new InvalidArgumentError('An item of the list is empty.');
  return items;
}

function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([dhms])$/.exec(text) ?? [];
  const unitMs = UNITS_MS.get(unit);
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}

function parseDateOrInstant(text: string): number | undefined {
  // A bare number is more likely a forgotten unit than an instant in Unix time.
  if (/^-?[\d.]+$/.test(text)) return undefined;
  const midnightMs = parseInstant(`${text}T00:00:00Z`);
  return midnightMs === undefined ? parseInstant(text) : midnightMs + DAY_MS;
}
