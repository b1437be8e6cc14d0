/** The clock changes of zones, as `zdump` tells them, and as rules of ours find them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ZoneRules } from '../../src/domain/zone.ts';

/** An instant in milliseconds, and the offset from then on, in milliseconds. */
export type Table = readonly (readonly [atMs: number, offsetMs: number])[];

const MOST_BYTES = 64 * 1024 * 1024;
const LINE = /^(\S+) +\w{3} (\w{3} +\d+ \d\d:\d\d:\d\d \d+) UT = .* gmtoff=(-?\d+)$/;

/** Why `zic` and `zdump` cannot run; false if they can. */
export function whyWithoutZoneTools(): string | false {
  try {
    execFileSync('zdump', ['--version'], { stdio: 'ignore' });
    execFileSync('zic', ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'zic and zdump are not installed';
  }
}

/** By zone. `from` and `to`: years; the changes at the bounds themselves are left out. */
export function dumpZones(
  folder: string,
  names: readonly string[],
  from: number,
  to: number,
): Map<string, Table> {
  const text = execFileSync(
    'zdump',
    ['-v', '-c', `${from},${to}`, ...names.map((name) => join(folder, name))],
    { encoding: 'utf8', maxBuffer: MOST_BYTES },
  );
  const tables = new Map<string, [number, number][]>(names.map((name) => [name, []]));
  const before = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, path = '', time, offset] = LINE.exec(line) ?? [];
    if (time === undefined) continue;
    const offsetMs = Number(offset) * 1000;
    const known = before.get(path);
    const name = path.slice(folder.length + 1);
    if (known !== undefined && known !== offsetMs)
      tables.get(name)!.push([Date.parse(`${time} UTC`), offsetMs]);
    before.set(path, offsetMs);
  }
  return tables;
}

/** The same by our rules. */
export function tableOf(rules: Pick<ZoneRules, 'find'>, name: string, from: number, to: number): Table {
  const find = rules.find(name);
  if (find === undefined) throw new Error(`there is no ${name}`);
  const changes: [number, number][] = [];
  let { toMs } = find(Date.UTC(from, 0, 1));
  while (toMs < Date.UTC(to, 0, 1)) {
    const stretch = find(toMs);
    if (stretch.fromMs !== toMs) throw new Error(`a stretch of ${name} begins in the one before`);
    changes.push([toMs, stretch.offsetMs]);
    toMs = stretch.toMs;
  }
  return changes;
}

/**
 * Compiles rules into a new folder. `version`: what the folder says it is; absent: nothing.
 * `options`: of `zic`.
 */
export function compileZones(
  folder: string,
  source: string,
  version?: string,
  options: readonly string[] = [],
): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'source.zi');
  writeFileSync(file, source);
  execFileSync('zic', [...options, '-d', folder, file]);
  if (version !== undefined) writeFileSync(join(folder, 'tzdata.zi'), `# version ${version}\n`);
  return folder;
}

const NORTH_AMERICA = `
Rule N 1970 2006 - Apr Sun>=1 2:00 1:00 D
Rule N 1970 2006 - Oct lastSun 2:00 0 S
Rule N 2007 max - Mar Sun>=8 2:00 1:00 D
Rule N 2007 max - Nov Sun>=1 2:00 0 S
Rule C 1998 2012 - Mar lastSun 0:00s 1:00 D
Rule C 2013 max - Mar Sun>=8 0:00s 1:00 D
Rule C 1998 max - Nov Sun>=1 0:00s 0 S
`;
const OTHERS = `
Rule E 1996 max - Mar lastSun 1:00u 1:00 S
Rule E 1996 max - Oct lastSun 1:00u 0 -
Zone Europe/Paris 0:09:21 - LMT 1911 Mar 11
 1:00 E CE%sT
Rule L 2008 max - Apr Sun>=1 2:00 0 -
Rule L 2008 max - Oct Sun>=1 2:00 0:30 -
Zone Australia/Lord_Howe 10:30 L +1030/+11
Zone Pacific/Apia -11:00 - -11 2011 Dec 29 24:00
 13:00 - +13
Zone Africa/Monrovia -0:44:30 - MMT 1972 Jan 7
 0:00 - GMT
Rule G 2023 max - Mar lastSun -2:00 1:00 -
Rule G 2023 max - Oct lastSun -1:00 0 -
Zone America/Nuuk -3:00 - -03 2023 Mar 26 1:00u
 -2:00 G -02/-01
Zone Etc/Fixed 5:45 - +0545
Link America/Winnipeg Canada/Central
`;

/** A zone whose clocks no longer go back. `until`: the local time before which they did. */
function zone(name: string, offset: string, rule: string, until?: string): string {
  const first = `Zone ${name} ${offset} ${rule} ${name.slice(8, 11)}%sT`;
  if (until === undefined) return first;
  const [hours = '0'] = offset.split(':');
  return `${first} ${until}\n ${Number(hours) + 1}:00 - ${name.slice(8, 11)}X`;
}

/**
 * Small sources in the manner of three versions of the database: what changed in North America in
 * 2026, one after the other.
 */
export const SOURCES: Readonly<Record<'2025b' | '2026c' | '2026f', string>> = {
  '2025b': sourceWith(undefined, undefined),
  '2026c': sourceWith('2026 Nov 1 2:00', undefined),
  '2026f': sourceWith('2026 Nov 1 2:00', '2026 Nov 1 2:00'),
};

function sourceWith(west: string | undefined, later: string | undefined): string {
  return [
    NORTH_AMERICA,
    zone('America/Vancouver', '-8:00', 'N', west),
    zone('America/Edmonton', '-7:00', 'N', west),
    zone('America/Winnipeg', '-6:00', 'N', later),
    zone('America/Inuvik', '-7:00', 'N', later),
    zone('America/Havana', '-5:00', 'C', later?.replace('2:00', '1:00')),
    OTHERS,
  ].join('\n');
}
