/** Rules of time zones: compiled files, the choice among them, and names. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openZoneFiles } from '../../src/system/zone-files.ts';
import {
  chooseZoneData,
  expectedZone,
  knownZone,
  newerRules,
  zoneData,
  zoneOf,
} from '../../src/system/zones.ts';
import { compileZones, dumpZones, SOURCES, tableOf, whyWithoutZoneTools } from './zone-tables.ts';

const folder = mkdtempSync(join(tmpdir(), 'corkboard-zones-'));
after(() => rmSync(folder, { recursive: true }));

const HALF_HOUR_MS = 1_800_000;
/** The offset of the zone without changes. */
const FIXED_MS = 5.75 * 3_600_000;
const NONE = /has no compiled time zone rules without leap seconds\. Install/;
const NAMES = [
  ...['America/Vancouver', 'America/Edmonton', 'America/Winnipeg', 'America/Inuvik', 'America/Havana'],
  ...['Canada/Central', 'Europe/Paris', 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Monrovia'],
  ...['America/Nuuk', 'Etc/Fixed'],
];

describe('compiled rules of a version', { skip: whyWithoutZoneTools() }, () => {
  for (const [version, source] of Object.entries(SOURCES)) {
    it(`${version} are read as zdump reads them, from 1900 to 2100`, () => {
      const compiled = compileZones(join(folder, version), source, version);
      const rules = openZoneFiles(compiled)!;
      assert.equal(rules.version, version);
      const dumped = dumpZones(compiled, NAMES, 1900, 2100);
      for (const name of NAMES) assert.deepEqual(tableOf(rules, name, 1900, 2100), dumped.get(name), name);
      assert.ok([...dumped.values()].flat().length > 1000);
    });

    it(`${version} give the same local time each half hour of 2024 to 2027`, () => {
      const compiled = compileZones(join(folder, `${version}-again`), source, version);
      chooseZoneData(compiled);
      assert.equal(zoneData(), version);
      const dumped = dumpZones(compiled, NAMES, 1900, 2100);
      for (const name of NAMES) {
        const zone = knownZone(name);
        const changes = dumped.get(name)!;
        let next = 0;
        for (let ms = Date.UTC(2024, 0, 1); ms < Date.UTC(2028, 0, 1); ms += HALF_HOUR_MS) {
          while (next < changes.length && changes[next]![0] <= ms) next += 1;
          const expected = changes[next - 1]?.[1] ?? FIXED_MS;
          if (zone.localOf(ms) - ms !== expected) assert.fail(`${name} at ${new Date(ms).toISOString()}`);
        }
      }
    });
  }

  it('say whether clocks have gone back: Winnipeg, Inuvik and Havana have not since 2026f', () => {
    const at = Date.UTC(2026, 10, 16, 5, 30);
    const shown = Object.entries(SOURCES).map(([version, source]) => {
      chooseZoneData(compileZones(join(folder, `${version}-shown`), source, version));
      const names = ['America/Winnipeg', 'America/Inuvik', 'America/Havana', 'America/Vancouver'];
      return names.map((name) => knownZone(name).render(at));
    });
    assert.deepEqual(shown, [
      [
        '2026-11-15T23:30-06:00',
        '2026-11-15T22:30-07:00',
        '2026-11-16T00:30-05:00',
        '2026-11-15T21:30-08:00',
      ],
      [
        '2026-11-15T23:30-06:00',
        '2026-11-15T22:30-07:00',
        '2026-11-16T00:30-05:00',
        '2026-11-15T22:30-07:00',
      ],
      [
        '2026-11-16T00:30-05:00',
        '2026-11-15T23:30-06:00',
        '2026-11-16T01:30-04:00',
        '2026-11-15T22:30-07:00',
      ],
    ]);
  });

  it('have the local times that clocks skip or show twice', () => {
    chooseZoneData(compileZones(join(folder, 'skipped'), SOURCES['2025b']));
    assert.equal(zoneData(), 'unknown');
    const paris = knownZone('europe/paris');
    const at = (text: string) => Date.parse(`${text}Z`);
    assert.equal(paris.instantOf(at('2026-03-29T02:30')), at('2026-03-29T01:00'));
    assert.equal(paris.shiftedInstantOf(at('2026-03-29T02:30')), at('2026-03-29T01:30'));
    assert.equal(paris.shiftedInstantOf(at('2026-10-25T02:30')), at('2026-10-25T00:30'));
    const apia = knownZone('Pacific/Apia');
    assert.equal(apia.shiftedInstantOf(at('2011-12-30T08:00')), at('2011-12-30T19:00'));
    assert.equal(knownZone('Africa/Monrovia').render(at('1960-01-01T00:00')), '1959-12-31T23:15-00:45');
  });

  it('lack zones that the folder has only in other forms, and files that are no zones', () => {
    const compiled = compileZones(join(folder, 'forms'), SOURCES['2026f'], '2026f');
    for (const form of ['right', 'posix']) {
      mkdirSync(join(compiled, form));
      compileZones(join(compiled, form, 'made'), SOURCES['2026f']);
    }
    writeFileSync(join(compiled, 'zone.tab'), 'CA');
    writeFileSync(join(compiled, 'Empty'), 'TZif');
    const rules = openZoneFiles(compiled)!;
    for (const name of [
      'right/made/Europe/Paris',
      'posix/made/Europe/Paris',
      'zone.tab',
      'Empty',
      '../forms/Europe/Paris',
    ])
      assert.equal(rules.find(name), undefined, name);
  });

  it('are those of Node.js for zones that they lack', () => {
    chooseZoneData(compileZones(join(folder, 'few'), SOURCES['2026f'], '2026f'));
    assert.equal(knownZone('Asia/Tokyo').render(0), '1970-01-01T09:00+09:00');
    assert.equal(zoneOf('Asia/Nowhere'), undefined);
  });

  it('are compared with newer ones of the system', () => {
    const newer = compileZones(join(folder, 'newer'), SOURCES['2026f'], '2026f');
    const names = ['Europe/Paris', 'America/Winnipeg', 'America/Vancouver', 'America/Havana'];
    const differing = Object.entries(SOURCES).map(([version, source]) => {
      chooseZoneData(compileZones(join(folder, `${version}-compared`), source, version));
      return newerRules(names, newer);
    });
    assert.deepEqual(differing, [
      { version: '2026f', differing: ['America/Winnipeg', 'America/Vancouver', 'America/Havana'] },
      { version: '2026f', differing: ['America/Winnipeg', 'America/Havana'] },
      undefined,
    ]);
  });

  it('are refused from a folder whose files have leap seconds', () => {
    const leaps = join(folder, 'leaps');
    writeFileSync(leaps, 'Leap 2016 Dec 31 23:59:60 + S\n');
    for (const form of ['slim', 'fat']) {
      const compiled = join(folder, `leap-seconds-${form}`);
      compileZones(compiled, SOURCES['2026f'], '2026f', ['-L', leaps, '-b', form]);
      chooseZoneData(compiled);
      assert.throws(() => zoneOf('Europe/Paris'), NONE);
    }
  });

  it('are refused from a folder without any', () => {
    mkdirSync(join(folder, 'none'));
    chooseZoneData(join(folder, 'none'));
    assert.throws(() => zoneOf('Europe/Paris'), NONE);
    assert.throws(() => chooseZoneData(join(folder, 'missing')), NONE);
  });
});

describe('names of zones', () => {
  it('are refused if they have several meanings, with the zones that they may mean', () => {
    chooseZoneData('node');
    const names =
      'ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST';
    for (const name of names.split(' ')) {
      assert.equal(zoneOf(name), undefined, name);
      assert.equal(zoneOf(name.toLowerCase()), undefined, name);
      const meant = /; \w+ may mean (.+)$/.exec(expectedZone(name))?.[1] ?? assert.fail(name);
      for (const one of meant.split(/, | or /)) assert.ok(zoneOf(one), one);
    }
  });

  it('are taken in any case, and not as offsets', () => {
    assert.equal(knownZone('europe/PARIS').render(0), '1970-01-01T01:00+01:00');
    for (const name of ['+01:00', 'Europe/Berln', 'EDT', '', 'Factory'])
      assert.equal(zoneOf(name), undefined, name);
    assert.equal(expectedZone('Europe/Berln'), 'the name of an IANA time zone, such as "Europe/Berlin"');
  });

  it('of Node.js are all zones', () => {
    for (const name of [...Intl.supportedValuesOf('timeZone'), 'CET', 'EST5EDT', 'US/Pacific', 'GMT'])
      assert.ok(zoneOf(name), name);
  });
});
