/**
 * Checks commit messages by the rule in CONTRIBUTING.md. `node test/commits.ts [RANGE]` prints
 * every violation and ends with exit code 1 if there is one. Default: the last commit.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const MOST_CHARACTERS = 72;
const NOT_IMPERATIVE =
  /^(?:add|chang|correct|fix|implement|improv|mak|mov|remov|renam|replac|rewrit|say|updat|us)(?:s|es|ed|ing)\b/i;

/** The violations of a message, in the order of its lines. */
export function findProblems(message: string): readonly string[] {
  const [subject = '', second = '', ...body] = message.trimEnd().split('\n');
  const problems: readonly (readonly [boolean, string])[] = [
    [[...subject].length > MOST_CHARACTERS, `the subject exceeds ${MOST_CHARACTERS} characters`],
    [!/^\p{Lu}/u.test(subject), 'the subject must begin with a capital letter'],
    [subject.endsWith('.'), 'the subject must not end with a full stop'],
    [NOT_IMPERATIVE.test(subject), 'the subject must be imperative: "Add", not "Added" or "Adds"'],
    [second !== '', 'a blank line must follow the subject'],
    [body.join('').trim() === '', 'the body must say why'],
  ];
  return problems.flatMap(([isViolated, problem]) => (isViolated ? [problem] : []));
}

function messagesOf(range: readonly string[]): readonly (readonly [name: string, message: string])[] {
  const log = ['log', '--no-merges', '--format=%h%n%B%x00', ...range];
  const text = execFileSync('git', log, { cwd: ROOT, encoding: 'utf8' });
  return text.split('\0').flatMap((entry) => {
    const [name = '', ...lines] = entry.trim().split('\n');
    return name === '' ? [] : [[name, lines.join('\n')] as const];
  });
}

if (import.meta.main) {
  const [range] = process.argv.slice(2);
  for (const [name, message] of messagesOf(range === undefined ? ['-1'] : [range])) {
    for (const problem of findProblems(message)) {
      process.stdout.write(`${name} ${message.split('\n')[0]}: ${problem}\n`);
      process.exitCode = 1;
    }
  }
}
