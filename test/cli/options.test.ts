import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  readBoards,
  readDatabase,
  readDataFolder,
  readDuration,
  readExpiry,
  readLine,
  readLongestLife,
  readNames,
  readNetworks,
  readOrigins,
  readPort,
  readProxies,
  readRateLimit,
  readRecords,
  readRedaction,
  readSize,
  readSwitch,
  readUsers,
  readWorkers,
} from '../../src/cli/terminal/options.ts';

const NOON_MS = Date.UTC(2026, 4, 1, 12);
const readExpiryAtNoon = (text: string) => readExpiry(text, NOON_MS);

const VALUES: readonly [reader: (text: string) => unknown, text: string, value: unknown][] = [
  [readPort, '0', 0],
  [readPort, '65535', 65_535],
  [readWorkers, '1', 1],
  [readWorkers, '256', 256],
  [readDataFolder, './data', './data'],
  [readDatabase, '', ''],
  [readDatabase, 'postgres://db/x', 'postgres://db/x'],
  [readDatabase, 'postgresql:///x?host=/run', 'postgresql:///x?host=/run'],
  [readSize, '0', 0],
  [readSize, '64k', 64_000],
  [readSize, '512MB', 512_000_000],
  [readSize, '2GB', 2_000_000_000],
  [readRecords, '', []],
  [readRecords, '3, 1,2,3', [1n, 2n, 3n]],
  [readRecords, '-9223372036854775808,9223372036854775807', [-(2n ** 63n), 2n ** 63n - 1n]],
  [readRecords, 'Chemistry I,2,a@x,1', [1n, 2n, { name: 'Chemistry I' }, { name: 'a@x' }]],
  [readBoards, 'all', 'all'],
  [readBoards, '7', [7n]],
  [readUsers, 'all', 'all'],
  [readUsers, 'of-boards', 'of-boards'],
  [readUsers, '', []],
  [readRedaction, 'email', { email: true, name: false, id: false }],
  [readRedaction, 'name,email', { email: true, name: true, id: false }],
  [readNames, 'sis_id, login', ['sis_id', 'login']],
  [readNames, '', []],
  [readProxies, '127.0.0.1, 10.0.0.0/8,fd00::/8', ['127.0.0.1', '10.0.0.0/8', 'fd00::/8']],
  [readNetworks, '10.0.0.0/8, 192.0.2.7,2001:db8::/32', ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']],
  [readNetworks, '::1,::1', ['::1']],
  [readNetworks, 'any', 'any'],
  [readSwitch, 'on', true],
  [readSwitch, 'off', false],
  [readLine, 'data warehouse', 'data warehouse'],
  [readDuration, '0s', 0],
  [readDuration, '7d', 7 * 86_400_000],
  [readLongestLife, '12h', 43_200_000],
  [readLongestLife, 'none', 'none'],
  [readExpiryAtNoon, 'never', 'never'],
  [readExpiryAtNoon, '45s', NOON_MS + 45_000],
  [readExpiryAtNoon, '15m', NOON_MS + 900_000],
  [readExpiryAtNoon, '12h', NOON_MS + 43_200_000],
  [readExpiryAtNoon, '30d', NOON_MS + 30 * 86_400_000],
  [readExpiryAtNoon, '2026-12-31', Date.UTC(2027, 0, 1)],
  [readExpiryAtNoon, '2027-01-31T17:00:00+01:00', Date.UTC(2027, 0, 31, 16)],
  [readExpiryAtNoon, '2001-01-01T00:00:00Z', Date.UTC(2001, 0, 1)],
  [readRateLimit, '10/second', { requests: 10, perSeconds: 1 }],
  [readRateLimit, '100/minute', { requests: 100, perSeconds: 60 }],
  [readRateLimit, '5000/hour', { requests: 5000, perSeconds: 3600 }],
  [readOrigins, 'https://example.org:8443', ['https://example.org:8443']],
];

const REFUSED: readonly [reader: (text: string) => unknown, texts: readonly string[]][] = [
  [readPort, ['', '-1', '65536', '80.5', '0x50', '1e3', ' 80']],
  [readWorkers, ['', '0', '-1', '257', '1000', '1.5', 'all', ' 2']],
  [readSize, ['', '2', '2gb', '1.5GB', '-1MB', '2 GB', 'GB', '1TB', '0x1k']],
  [readRecords, [',', '1,', '1,,2', '9223372036854775808']],
  [readRedaction, ['e-mail', 'email,', 'Email']],
  [readSwitch, ['', 'yes', 'true', 'ON']],
  [readLine, ['two\nlines', 'x'.repeat(201), '\u001b[31m']],
  [readDuration, ['', '7', 'd', '-7d', '1.5h', '7 d', '7w', '1234567d']],
  [
    readExpiryAtNoon,
    ['', '30', '30.5', '1767225600', 'tomorrow', '2026-02-30', '2026-12-31T12:00:00', '9999-12-31'],
  ],
  [readLongestLife, ['', '0d', 'never', '365']],
  [readRateLimit, ['100', '0/minute', '100/day', '100/', '-1/second', '1.5/hour', '100/toString']],
  [
    readProxies,
    ['10.0.0.0/0', '10.0.0.0/33', '10.0.0.0/', 'proxy.example.org', 'true', '::1/129', 'fe80::1%1'],
  ],
  [
    readNetworks,
    ['10.0.0.0/0', '10.0.0.0/33', 'any,10.0.0.0/8', '10.0.0', 'host', 'fe80::1%1', '::ffff:10.0.0.0/104'],
  ],
  [readOrigins, ['*', 'example.org', 'https://example.org/', 'https://example.org/path']],
];

describe('option values', () => {
  for (const [reader, text, value] of VALUES) {
    it(`${reader.name} reads ${JSON.stringify(text)}`, () => assert.deepEqual(reader(text), value));
  }

  for (const [reader, texts] of REFUSED) {
    it(`${reader.name} refuses ${texts.map((text) => JSON.stringify(text.slice(0, 30))).join(', ')}`, () => {
      for (const text of texts) {
        assert.throws(() => reader(text), { code: 'commander.invalidArgument', message: /\.$/ }, text);
      }
    });
  }

  it('collects repeated origins', () => {
    assert.deepEqual(readOrigins('https://b.example', ['https://a.example']), [
      'https://a.example',
      'https://b.example',
    ]);
  });
});
