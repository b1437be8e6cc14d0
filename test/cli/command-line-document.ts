/**
 * `docs/command-line.md`, generated from the help of every command. After a change of the help,
 * generate it again with `node test/cli/command-line-document.ts`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';

const PROGRAM = await buildProgram();

export const DOCUMENT = join(import.meta.dirname, '../../docs/command-line.md');

const INTRODUCTION = `# Command line

<!-- Generated from the help of the commands: node test/cli/command-line-document.ts -->

A command prints its result to standard output and everything else to standard error. With
\`--json\` the result is one JSON value: ids are written digit for digit, instants are in UTC, and
missing values are \`null\`.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | refused or failed; standard error has the reason |
| 2 | misuse: an unknown command or option, or a malformed value |

**Empty values** of options are misuse, so that a variable of a script that is not set does not lift
a limit. They have a meaning only for \`--boards\`, \`--users\`, \`--lms-splits\` and
\`--lms-user-properties\` (none), for \`--database\` (the data folder), and for titles, domains and
labels (no text).

**Global options** can be given before or after the name of a command. \`-h\` is short for
\`--help\`, \`-V\` for \`--version\`.

- Without \`--data\` and \`--database\`, commands use the environment variables \`CORKBOARD_DATA\` and
  \`CORKBOARD_DATABASE\`, and otherwise the folder \`./data\`. A database takes precedence over a
  folder; an empty \`--database ''\` selects the data folder.
- Commands that require an organization use \`--organization\`, otherwise \`CORKBOARD_ORGANIZATION\`,
  and otherwise the only organization of the store.
- [settings.md](settings.md) lists the variables.
- \`copy\` ignores both options and uses \`--from\` and \`--to\`.
- Command-line options are visible in the process list: keep passwords in the environment or in a
  PGPASSFILE.

**Secrets**: API keys are printed once, to standard output, when they are created or rotated.
Database passwords are never printed.

**Data folders**: \`serve\`, \`import\`, \`pull\`, \`demo\`, \`organizations create\` and \`copy --to\`
create the data folder if it does not exist; a dry run does not. All other commands require an
existing folder and otherwise fail with exit code 1.
`;

/** Every command with its full name; parents come before their subcommands. */
export function allCommands(command: Command = PROGRAM, above = ''): [name: string, Command][] {
  const name = `${above}${command.name()}`;
  return [[name, command], ...command.commands.flatMap((below) => allCommands(below, `${name} `))];
}

export function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
    getOutHelpWidth: () => 100,
  });
  command.outputHelp();
  return help;
}

export function renderDocument(): string {
  const sections = allCommands().map(
    ([name, command]) => `## ${name}\n\n\`\`\`text\n${helpOf(command).trimEnd()}\n\`\`\`\n`,
  );
  return [INTRODUCTION, ...sections].join('\n');
}

if (import.meta.main) writeFileSync(DOCUMENT, renderDocument());
