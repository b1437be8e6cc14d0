import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import packageFile from '../../package.json' with { type: 'json' };
import { buildProgram } from '../../src/cli/program.ts';
import { zoneData, zoneDataAtHand } from '../../src/system/zones.ts';
import { run, runProcess } from './command.ts';
import { allCommands, DOCUMENT, helpOf, renderDocument } from './command-line-document.ts';

/** Commands and options that scripts depend on (issue 2, item 6); removing one breaks scripts. */
const SURFACE: Readonly<Record<string, readonly string[]>> = {
  corkboard: ['--data', '--database', '--cache', '--cache-limit', '--version'],
  'corkboard serve': [
    '--host',
    '--port',
    '--variant',
    '--rate-limit',
    '--cors-origin',
    '--trust-proxy',
    '--metrics-organizations',
    ...['--audit-access', '--audit-folder'],
    ...['--admin-port', '--admin-host', '--version-header'],
    '--log-level',
    '--workers',
    '--resident-limit',
  ],
  'corkboard import': [
    ...['--organization', '--as', '--time-zone', '--date-order', '--mapping', '--from-lrs', '--since'],
    ...[
      '--encoding',
      '--formats',
      '--skip-invalid',
      '--dry-run',
      '--json',
      '--cascade',
      '--replace',
      '--subfolders',
    ],
  ],
  'corkboard pull': ['--organization', '--key-file', '--key', '--json'],
  'corkboard sync': [
    ...['--to', '--schema', '--grant', '--no-points', '--every', '--key-file', '--key', '--json'],
  ],
  'corkboard export': ['--organization', '--format', '--compression', '--user', '--json'],
  'corkboard expire': ['--organization', '--yes', '--json'],
  'corkboard forget': ['--organization', '--user', '--json'],
  'corkboard versions': [],
  'corkboard versions list': ['--organization', '--json'],
  'corkboard versions show': ['--organization', '--json'],
  'corkboard versions diff': ['--organization', '--json'],
  'corkboard rollback': ['--to', '--organization', '--json'],
  'corkboard organizations': [],
  'corkboard organizations create': ['--id', '--title', '--domain', '--category-id', '--json'],
  'corkboard organizations list': ['--json'],
  'corkboard organizations show': ['--json'],
  'corkboard organizations rename': ['--json'],
  'corkboard organizations remove': ['--yes', '--json'],
  'corkboard organizations configure': [
    '--policy',
    '--course-lookup',
    '--lms-user-properties',
    '--user-points-key',
    '--title',
    '--domain',
    '--category-id',
    '--longest-key-life',
    '--json',
  ],
  'corkboard keys': [],
  'corkboard keys create': [
    '--organization',
    '--boards',
    '--users',
    '--redact',
    '--lms-splits',
    '--networks',
    '--expires',
    '--label',
    '--rate-limit',
    '--json',
  ],
  'corkboard keys list': ['--organization', '--json'],
  'corkboard keys show': ['--organization', '--json'],
  'corkboard keys configure': [
    ...['--boards', '--users', '--redact', '--allow-lms-lookup', '--no-allow-lms-lookup', '--expires'],
    ...['--lms-splits', '--networks', '--label', '--rate-limit', '--organization', '--json'],
  ],
  'corkboard keys rotate': ['--overlap', '--expires', '--organization', '--json'],
  'corkboard keys revoke': ['--organization', '--json'],
  'corkboard points': [],
  'corkboard points explain': ['--organization', '--board', '--user', '--json'],
  'corkboard points export': [
    ...['--organization', '--board', '--for', '--value', '--column', '--id', '--start', '--end'],
  ],
  'corkboard points recompute': ['--organization', '--json'],
  'corkboard copy': ['--from', '--to', '--organization', '--no-keys', '--json'],
  'corkboard backup': ['--organization', '--json'],
  'corkboard restore': ['--organization', '--replace', '--json'],
  'corkboard audit archived': ['--before', '--json'],
  'corkboard audit': ['--organization', '--since', '--command', '--access', '--audit-folder', '--json'],
  'corkboard check': ['--backup', '--organization', '--audit-folder', '--json'],
  'corkboard migrate': ['--bucket', '--json'],
  'corkboard prefetch': ['--organization', '--json'],
  'corkboard completion': [],
  'corkboard demo': ['--host', '--port', '--log-level', '--resident-limit'],
};

/** Prints the name of each module that is loaded to standard error. */
const TELL_LOADED = `--import data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) { console.error(url); return next(url, context); } });
`)}`;

describe('the command line', () => {
  it('has the commands and options that scripts depend on', () => {
    const names = allCommands().map(([name]) => name);
    assert.deepEqual([...names].sort(), Object.keys(SURFACE).sort());
    for (const [name, command] of allCommands()) {
      const missing = SURFACE[name]?.filter((flag) => !command.options.some(({ long }) => long === flag));
      assert.deepEqual(missing, [], name);
    }
  });

  it('builds only the command that is run, and all commands for anything else', async () => {
    const namesOf = async (...words: readonly string[]) =>
      (await buildProgram(words)).commands.map((command) => command.name());
    const all = await namesOf();
    for (const name of all) assert.deepEqual(await namesOf(name, '--json'), [name]);
    for (const other of ['--help', 'help', 'inport', 'constructor', '--data'])
      assert.deepEqual(await namesOf(other, 'import'), all, other);
  });

  it('has the same help for a command alone as among all commands', async () => {
    const helps = new Map(allCommands().map(([name, command]) => [name, helpOf(command)]));
    for (const command of (await buildProgram()).commands) {
      const alone = await buildProgram([command.name()]);
      for (const [name, each] of allCommands(alone).slice(1)) assert.equal(helpOf(each), helps.get(name));
    }
  });

  it('loads only the code of the command that is run', async () => {
    const { stderr } = await runProcess(['import', '--help'], { environment: { NODE_OPTIONS: TELL_LOADED } });
    assert.match(stderr, /\/commands\/import\.ts$/m);
    assert.doesNotMatch(
      stderr,
      /\/commands\/(?!import\.ts$)|cli-progress|parse-xml|duckdb|temporal-polyfill/m,
    );
  });

  it('accepts options before the command', async () => {
    const before = await run(['--data', '/nowhere', 'keys', 'list', '--organization', 'a']);
    const behind = await run(['keys', 'list', '--organization', 'a', '--data', '/nowhere']);
    assert.deepEqual(before, behind);
    assert.equal(before.code, 1);
    assert.match(before.stderr, /\/nowhere/);
  });

  it('is documented in docs/command-line.md exactly as in its help', () => {
    assert.equal(
      readFileSync(DOCUMENT, 'utf8'),
      renderDocument(),
      'docs/command-line.md is not what the help says; run: node test/cli/command-line-document.ts',
    );
  });
});

describe('the help', () => {
  for (const [name, command] of allCommands()) {
    it(`of ${name} describes every option, names the data folder and the database, and ends with examples of itself`, () => {
      const help = helpOf(command);
      assert.match(help, /--data <dir>/);
      assert.match(help, /--database <url>/);
      const [, examples = ''] = help.split('\nExamples:\n');
      assert.match(examples, new RegExp(`^  \\$ .*${name}`, 'm'));
      assert.notEqual(command.description(), '');
      for (const option of command.options.filter(({ hidden }) => !hidden))
        assert.notEqual(option.description, '', option.flags);
    });
  }

  it('is printed by --help with exit code 0, and the version by --version', async () => {
    const help = await run(['keys', 'create', '--help']);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /^Usage: corkboard keys create/);
    assert.equal(help.stderr, '');
    const version = await run(['--version']);
    assert.deepEqual(version, { code: 0, stdout: `${packageFile.version}\n`, stderr: '' });
    const { stdout } = await run(['--version', '--json']);
    const { versions, platform, arch } = process;
    assert.deepEqual(JSON.parse(stdout), {
      version: packageFile.version,
      node: versions.node,
      platform,
      arch,
      zoneData: { used: zoneData(), ...zoneDataAtHand() },
    });
    assert.deepEqual(await run(['keys', 'create', '-h']), help);
    for (const words of [['-V'], ['keys', 'list', '-V']]) assert.deepEqual(await run(words), version);
  });
});
