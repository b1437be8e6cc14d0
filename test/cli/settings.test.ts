import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';
import type { Result } from './command.ts';
import { runHere } from './in-process.ts';
import { renderSettings, SETTINGS_DOCUMENT, settingsOf } from './settings-document.ts';

interface Case {
  /** Name of the value in the parsed options. */
  readonly name: string;
  readonly text: string;
  readonly value: unknown;
  /** Given by the option, while the variable has `text`. */
  readonly optionText: string;
  readonly optionValue: unknown;
  /** Absent if every text is valid. */
  readonly invalid?: string;
}

/** Every setting of `serve`, by the name of its option. */
const CASES: Readonly<Record<string, Case>> = {
  data: {
    name: 'data',
    ...{ text: '/one', value: '/one', optionText: '/two', optionValue: '/two' },
    invalid: 'postgres://one:secret@two/db',
  },
  database: {
    name: 'database',
    ...{ text: 'postgres://one/db', value: 'postgres://one/db' },
    ...{ optionText: 'postgres://two/db', optionValue: 'postgres://two/db' },
    invalid: 'one:secret@two',
  },
  cache: { name: 'cache', text: '/one', value: '/one', optionText: '/two', optionValue: '/two' },
  'cache-limit': {
    name: 'cacheLimit',
    ...{ text: '5GB', value: 5e9, optionText: '6GB', optionValue: 6e9, invalid: '5' },
  },
  'build-memory': {
    name: 'buildMemory',
    ...{ text: '5GB', value: 5e9, optionText: '6GB', optionValue: 6e9, invalid: '255MB' },
  },
  'zone-data': { name: 'zoneData', text: 'node', value: 'node', optionText: 'system', optionValue: 'system' },
  host: { name: 'host', text: '::1', value: '::1', optionText: '0.0.0.0', optionValue: '0.0.0.0' },
  port: { name: 'port', text: '81', value: 81, optionText: '0', optionValue: 0, invalid: 'http' },
  'admin-port': {
    name: 'adminPort',
    ...{ text: '81', value: 81, optionText: '0', optionValue: 0, invalid: 'http' },
  },
  'admin-host': {
    name: 'adminHost',
    ...{ text: '::1', value: '::1', optionText: '0.0.0.0', optionValue: '0.0.0.0' },
  },
  'version-header': {
    name: 'versionHeader',
    ...{ text: 'off', value: false, optionText: 'on', optionValue: true, invalid: 'yes' },
  },
  'log-level': {
    name: 'logLevel',
    ...{ text: 'warn', value: 'warn', optionText: 'debug', optionValue: 'debug', invalid: 'loud' },
  },
  'resident-limit': {
    name: 'residentLimit',
    ...{ text: '2GB', value: 2e9, optionText: '0', optionValue: 0, invalid: '2' },
  },
  workers: { name: 'workers', text: '3', value: 3, optionText: '1', optionValue: 1, invalid: '0' },
  variant: { name: 'variant', text: 'b', value: 'b', optionText: 'a', optionValue: 'a', invalid: 'c' },
  'rate-limit': {
    name: 'rateLimit',
    ...{ text: '9/second', value: { requests: 9, perSeconds: 1 } },
    ...{ optionText: '8/minute', optionValue: { requests: 8, perSeconds: 60 }, invalid: '9' },
  },
  limit: {
    name: 'limit',
    ...{ text: 'streams=1 queries=2', value: { streams: 1, queries: 2 } },
    ...{ optionText: 'streams=3', optionValue: { streams: 3 }, invalid: 'streams' },
  },
  'cors-origin': {
    name: 'corsOrigin',
    ...{ text: 'https://a.example, https://b.example', value: ['https://a.example', 'https://b.example'] },
    ...{ optionText: 'https://c.example', optionValue: ['https://c.example'], invalid: 'a.example' },
  },
  'trust-proxy': {
    name: 'trustProxy',
    ...{ text: '10.0.0.0/8,::1', value: ['10.0.0.0/8', '::1'] },
    ...{ optionText: '127.0.0.1', optionValue: ['127.0.0.1'], invalid: 'proxy' },
  },
  'audit-access': {
    name: 'auditAccess',
    ...{ text: 'on', value: true, optionText: 'off', optionValue: false, invalid: 'yes' },
  },
  'audit-folder': {
    name: 'auditFolder',
    text: '/one',
    value: '/one',
    optionText: '/two',
    optionValue: '/two',
  },
  'metrics-organizations': {
    name: 'metricsOrganizations',
    ...{ text: 'on', value: true, optionText: 'off', optionValue: false, invalid: 'yes' },
  },
};

/** No variable of the surroundings counts. */
const CLEAN: NodeJS.ProcessEnv = Object.fromEntries(
  ['PORT', 'HOST', ...settingsOf().map(({ envVar }) => envVar!)].map((name) => [name, undefined]),
);

/** What `serve` would be given by these arguments and variables. */
async function parse(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<Result & { readonly options: Record<string, unknown> }> {
  let options: Record<string, unknown> = {};
  const build = async () => {
    const program = await buildProgram(['serve']);
    program.commands
      .find((command) => command.name() === 'serve')
      ?.action((_options: unknown, command: Command) => {
        options = command.optsWithGlobals();
      });
    return program;
  };
  const surroundings = { input: '', environment: { ...CLEAN, ...environment } };
  return { ...(await runHere(['serve', ...args], surroundings, build)), options };
}

describe('a setting of serve', () => {
  it('has a case below, a variable, and a line in docs/settings.md', () => {
    assert.deepEqual(
      settingsOf()
        .map((option) => option.name())
        .sort(),
      Object.keys(CASES).sort(),
    );
    assert.equal(
      readFileSync(SETTINGS_DOCUMENT, 'utf8'),
      renderSettings(),
      'docs/settings.md is out of date; run: node test/cli/settings-document.ts',
    );
  });

  for (const option of settingsOf()) {
    const variable = option.envVar!;
    const { name, text, value, optionText, optionValue, invalid } = CASES[option.name()]!;
    const flag = `${option.long}=${optionText}`;

    it(`is given by ${option.long}, by ${variable}, and by both: then the option wins`, async () => {
      assert.deepEqual((await parse([flag], {})).options[name], optionValue);
      assert.deepEqual((await parse([], { [variable]: text })).options[name], value);
      assert.deepEqual((await parse([flag], { [variable]: text })).options[name], optionValue);
      // The same as without the variable.
      const absent = await parse([], {});
      assert.deepEqual(await parse([], { [variable]: '' }), absent);
      assert.equal(absent.code, 0);
    });

    if (invalid === undefined) continue;
    it(`${variable} with an invalid value is misuse that names the variable`, async () => {
      const { code, stdout, stderr, options } = await parse([], { [variable]: invalid });
      assert.deepEqual([code, stdout, options], [2, '', {}]);
      assert.match(stderr, new RegExp(`^corkboard: .*\\b${variable}\\b`));
      assert.ok(!stderr.includes('secret'), stderr);
      // The option wins, so an invalid variable does not matter.
      assert.equal((await parse([flag], { [variable]: invalid })).code, 0);
    });
  }

  it('is given by PORT and HOST, unless the variable of Corkboard or the option is set', async () => {
    for (const [customary, own, option, first, second, third] of [
      ['PORT', 'CORKBOARD_PORT', 'port', 81, 82, 83],
      ['HOST', 'CORKBOARD_HOST', 'host', '::1', '::', '127.0.0.2'],
    ] as const) {
      const given = { [customary]: String(first) };
      assert.equal((await parse([], given)).options[option], first);
      assert.equal((await parse([], { ...given, [own]: '' })).options[option], first);
      const both = { ...given, [own]: String(second) };
      assert.equal((await parse([], both)).options[option], second);
      assert.equal((await parse([`--${option}`, String(third)], both)).options[option], third);
    }
    const { code, stderr } = await parse([], { PORT: '/run/corkboard.sock' });
    assert.equal(code, 2);
    assert.match(stderr, /^corkboard: option .* from env 'PORT' is invalid\. A port is a number/);
  });

  it('has a short form if it is common', async () => {
    const { options } = await parse(['-p', '84', '-d', '/three'], {});
    assert.deepEqual([options['port'], options['data']], [84, '/three']);
    assert.equal((await parse(['--metrics-organizations'], {})).options['metricsOrganizations'], true);
  });
});
