import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command, Option } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';
import { allCommands } from './command-line-document.ts';
import { runHere } from './in-process.ts';

/** Options for which an empty value means something, with the reason why that is safe. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  '--database': 'selects the data folder, although the variable names a database',
  '--boards': 'no board: the key sees less, not more',
  '--users': 'no user: the key sees less, not more',
  '--lms-splits': 'no property: the key may do less, not more',
  '--lms-user-properties': 'no property: users cannot be looked up by any',
  '--title': 'text for people, which limits nothing',
  '--domain': 'text for people, which limits nothing',
  '--label': 'text for people, which limits nothing',
  '--column': 'text for people, which limits nothing',
};

/** Options whose value is a list, by its name in the help. */
const LIST = /<(?:ids|names|kinds|fields|addresses|origins)>/;
/** Two lists for options that do not take numbers. */
const LISTS: Readonly<Record<string, readonly [string, string]>> = {
  '--cors-origin': ['https://a.example', 'https://b.example'],
  '--lms-splits': ['cohort', 'term'],
  '--lms-user-properties': ['sis_id', 'login'],
  '--networks': ['192.0.2.0/24', '198.51.100.0/24'],
  '--redact': ['email', 'name'],
  '--replace': ['users', 'boards'],
  '--trust-proxy': ['192.0.2.1', '192.0.2.2'],
};
/** Options that add a second list to the first. */
const ADDS: ReadonlySet<string> = new Set(['--cors-origin', '--trust-proxy']);

/** Runs a command with one more option, without what it does; tells whether it would have begun. */
async function runWith(name: string, words: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  const [, ...path] = name.split(' ');
  let begins = false;
  const build = async () => {
    const program = await buildProgram(path);
    const command = allCommands(program).find(([each]) => each === name)?.[1] ?? program;
    command.action(() => {
      begins = true;
    });
    return program;
  };
  const { code, stderr } = await runHere([...path, ...words], { input: '', environment }, build);
  return { code, stderr, begins };
}

/** Values for everything else that the command requires. */
function requiredWords({ registeredArguments, options }: Command, { long }: Option): readonly string[] {
  const mandatory = options.filter((option) => option.mandatory && option.long !== long);
  return [
    ...registeredArguments.filter(({ required }) => required).map(() => 'x'),
    ...mandatory.map((option) => `${option.long}=1`),
  ];
}

const takesValue = ({ required, optional }: Option) => required || optional;

describe('a second list', () => {
  for (const [name, command] of allCommands()) {
    for (const option of command.options.filter(({ flags }) => LIST.test(flags))) {
      const { long } = option;
      it(`of ${long} is refused by ${name}, or added to the first`, async () => {
        const [first, second] = LISTS[long!] ?? ['1', '2'];
        const words = [...requiredWords(command, option), `${long}=${first}`];
        assert.equal((await runWith(name, words)).code, 0, words.join(' '));
        const { code, stderr } = await runWith(name, [...words, `${long}=${second}`]);
        if (ADDS.has(long!)) assert.equal(code, 0, stderr);
        else assert.match(stderr, /is invalid\. It is given twice\. Give one list, with commas\.\n/);
      });
    }
  }

  it('does not make "forget" erase only one of two users', async () => {
    const users = ['--organization', 'school', '--user', '32', '--user', '33'];
    const { code, begins } = await runWith('corkboard forget', users);
    assert.deepEqual([code, begins], [2, false]);
  });
});

describe('an empty or blank value', () => {
  for (const [name, command] of allCommands()) {
    for (const option of command.options.filter(takesValue)) {
      const { long, envVar } = option;
      const words = requiredWords(command, option);
      if (EXCEPTIONS[long!] === undefined) {
        it(`of ${long} is refused by ${name}`, async () => {
          for (const text of ['', ' ', '\t']) {
            const { code, stderr, begins } = await runWith(name, [...words, `${long}=${text}`]);
            assert.deepEqual([code, begins], [2, false], JSON.stringify(text));
            assert.match(stderr, new RegExp(`^corkboard: option '.*${long} .*' is invalid\\. [A-Z].*\\.\n`));
          }
        });
      } else {
        it(`of ${long} is accepted by ${name}: ${EXCEPTIONS[long!]}`, async () => {
          const { code, stderr, begins } = await runWith(name, [...words, `${long}=`]);
          assert.deepEqual([code, begins], [0, true], stderr);
        });
      }
      if (envVar === undefined) continue;
      it(`of ${envVar} is no value for ${name} if it is empty, and refused if it is blank`, async () => {
        const unset = await runWith(name, words, { [envVar]: undefined });
        assert.deepEqual(await runWith(name, words, { [envVar]: '' }), unset);
        const { code, begins } = await runWith(name, words, { [envVar]: ' ' });
        assert.deepEqual([code, begins], [2, false]);
      });
    }
  }

  it('has a meaning only for options that exist', () => {
    const flags = new Set(allCommands().flatMap(([, { options }]) => options.map(({ long }) => long)));
    assert.deepEqual(
      Object.keys(EXCEPTIONS).filter((flag) => !flags.has(flag)),
      [],
    );
  });
});
