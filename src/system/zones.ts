/**
 * The time zone rules of this process and its threads: the newest of those of Node.js and of the
 * operating system, unless others are chosen (decision 107). The choice holds until the process
 * ends.
 */
import { statSync } from 'node:fs';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { Temporal } from 'temporal-polyfill';
import { AppError } from '../domain/app-error.ts';
import { nearestName } from '../domain/nearest-name.ts';
import { type FindStretch, firstDifference, Zone, type ZoneRules } from '../domain/zone.ts';
import { openZoneFiles, versionIn } from './zone-files.ts';

/** Where operating systems keep compiled rules; the second one is that of macOS. */
const SYSTEM_FOLDERS = ['/usr/share/zoneinfo', '/var/db/timezone/zoneinfo'];
const YEAR_MS = 366 * 86_400_000;
/** The choice, for threads that start later. */
const CHOICE = 'corkboard.zone-data';

/** What `Intl` takes for a zone although it is none, and the zones that it may mean. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  ACT: 'Australia/Darwin or America/Rio_Branco',
  AET: 'Australia/Sydney or Australia/Brisbane',
  AGT: 'America/Argentina/Buenos_Aires',
  ART: 'America/Argentina/Buenos_Aires or Africa/Cairo',
  AST: 'America/Halifax, America/Anchorage or Asia/Riyadh',
  BET: 'America/Sao_Paulo',
  BST: 'Europe/London or Asia/Dhaka',
  CAT: 'Africa/Harare or Africa/Maputo',
  CNT: 'America/St_Johns',
  CST: 'America/Chicago, Asia/Shanghai or America/Havana',
  CTT: 'Asia/Shanghai',
  EAT: 'Africa/Nairobi or Africa/Addis_Ababa',
  ECT: 'Europe/Paris or America/Guayaquil',
  IET: 'America/Indiana/Indianapolis',
  IST: 'Asia/Kolkata, Europe/Dublin or Asia/Jerusalem',
  JST: 'Asia/Tokyo',
  MIT: 'Pacific/Apia or Pacific/Marquesas',
  NET: 'Asia/Yerevan',
  NST: 'Pacific/Auckland or America/St_Johns',
  PLT: 'Asia/Karachi',
  PNT: 'America/Phoenix',
  PRT: 'America/Puerto_Rico',
  PST: 'America/Los_Angeles or Asia/Manila',
  SST: 'Pacific/Guadalcanal or Pacific/Pago_Pago',
  VST: 'Asia/Ho_Chi_Minh',
};

export const EXPECTED_ZONE = 'the name of an IANA time zone';

/** `node`, `system` or a folder of compiled rules; absent: the newest rules. */
export type ZoneData = string | undefined;

let rules: ZoneRules | undefined;

/**
 * Chooses the rules, also for threads. Throws `option-malformed` if there are none. `system` and
 * folders are read when the first zone is asked for.
 */
export function chooseZoneData(choice: ZoneData): void {
  if (choice !== undefined && choice !== 'node') {
    const folder = choice === 'system' ? systemFolder() : choice;
    if (folder === undefined || statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw noRules(choice);
  }
  setEnvironmentData(CHOICE, choice ?? '');
  rules = undefined;
}

/** Undefined: there is no such zone. */
export function zoneOf(name: string): Zone | undefined {
  const find = findIn(name);
  return find && new Zone(find);
}

/** Throws an `Error` if there is no such zone; names are checked where they come in. */
export function knownZone(name: string): Zone {
  const zone = zoneOf(name);
  if (zone === undefined) throw new Error(`there is no time zone ${name}`);
  return zone;
}

/** The version of the rules, such as `2026c`; `unknown` if they do not tell. */
export function zoneData(): string {
  return current().version;
}

/** The versions of the rules of Node.js and of the operating system; null: it has none. */
export function zoneDataAtHand(): { readonly node: string; readonly system: string | null } {
  const folder = systemFolder();
  return { node: NODE_RULES.version, system: (folder && versionIn(folder)) ?? null };
}

/**
 * Newer rules of the operating system, and those of the zones for which they differ between the
 * year 2000 and two years from now; undefined if the rules in use are the newest.
 */
export function newerRules(
  names: readonly string[],
  folder = systemFolder(),
): { readonly version: string; readonly differing: readonly string[] } | undefined {
  const version = folder && versionIn(folder);
  const system = isNewer(version, zoneData()) ? openZoneFiles(folder!) : undefined;
  if (system === undefined) return undefined;
  const untilMs = Date.now() + 2 * YEAR_MS;
  const offsetsBy = (find: FindStretch) => new Zone(find).offsetsBetween(Date.UTC(2000), untilMs);
  const differing = names.filter((name) => {
    const [ours, theirs] = [findIn(name), system.find(name)];
    return ours && theirs && firstDifference(offsetsBy(ours), offsetsBy(theirs)) !== undefined;
  });
  return { version: system.version, differing };
}

/** The zones that an abbreviation may mean. Undefined: `Intl` does not take it for a zone. */
export function meaningsOf(name: string): string | undefined {
  const key = name.toUpperCase();
  return Object.hasOwn(ABBREVIATIONS, key) ? ABBREVIATIONS[key] : undefined;
}

/** What to give instead of a name that is none; completes "must be". */
export function expectedZone(name: string): string {
  const meant = meaningsOf(name);
  if (meant !== undefined) return `${EXPECTED_ZONE}; ${name} may mean ${meant}`;
  const nearest = nearestName(name, Intl.supportedValuesOf('timeZone')) ?? 'Europe/Berlin';
  return `${EXPECTED_ZONE}, such as "${nearest}"`;
}

function findIn(name: string): FindStretch | undefined {
  // `Intl` also accepts offsets such as +01:00, but those have no name and no daylight saving time.
  if (!/^[A-Za-z]/.test(name) || meaningsOf(name) !== undefined) return undefined;
  const rules = current();
  const find = rules.find(name);
  if (find !== undefined || rules === NODE_RULES) return find;
  // Some systems leave out former names.
  return rules.find(presentName(name)) ?? NODE_RULES.find(name);
}

/** The name that a former one refers to. */
function presentName(name: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return name;
  }
}

function current(): ZoneRules {
  rules ??= open(String(getEnvironmentData(CHOICE) ?? ''));
  return rules;
}

function open(choice: string): ZoneRules {
  if (choice === 'node') return NODE_RULES;
  const folder = choice === '' || choice === 'system' ? systemFolder() : choice;
  if (choice === '' && (folder === undefined || !isNewer(versionIn(folder), NODE_RULES.version)))
    return NODE_RULES;
  const opened = folder === undefined ? undefined : openZoneFiles(folder);
  if (opened === undefined) throw noRules(choice);
  return opened;
}

function isNewer(version: string | undefined, than: string): boolean {
  return version !== undefined && /^\d{4}[a-z]+$/.test(version) && version > than;
}

function systemFolder(): string | undefined {
  return SYSTEM_FOLDERS.find((folder) => versionIn(folder) !== undefined);
}

function noRules(choice: string): AppError {
  const where = choice === 'system' ? 'This system' : `The folder ${choice}`;
  return new AppError(
    'option-malformed',
    `${where} has no compiled time zone rules without leap seconds. Install the package tzdata, or choose other rules with --zone-data.`,
  );
}

const NODE_RULES: ZoneRules = {
  version: process.versions['tz'] ?? 'unknown',
  find(name) {
    try {
      // `Intl` knows former names, and `Temporal` refuses some of them.
      new Intl.DateTimeFormat('en', { timeZone: name });
      Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    } catch {
      return undefined;
    }
    return (ms) => {
      const at = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(name);
      // 'previous' excludes a change at the instant itself, so the search starts one millisecond
      // later.
      const before = at.add({ milliseconds: 1 }).getTimeZoneTransition('previous');
      const after = at.getTimeZoneTransition('next');
      return {
        fromMs: before?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
        toMs: after?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
        offsetMs: at.offsetNanoseconds / 1e6,
      };
    };
  },
};
