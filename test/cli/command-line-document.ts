/**
 * `docs/command-line.md`, made from the help of every command. To make it anew after a change of the help:
 * `node test/cli/command-line-document.ts`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';

export const DOCUMENT = join(import.meta.dirname, '../../docs/command-line.md');

const INTRODUCTION = `# Command line

<!-- Made from the help of the commands: node test/cli/command-line-document.ts -->

Results stand on standard output, everything else on standard error. With \`--json\` a command prints one JSON value,
with ids written digit for digit; instants are in UTC, what is absent is \`null\`.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | refused or failed; the reason stands on standard error |
| 2 | misuse: an unknown command or option, a malformed value |

\`--data\` and \`--database\` can stand before the command or after it; without them the environment variables
\`CORKBOARD_DATA\` and \`CORKBOARD_DATABASE\` are taken, else the folder \`./data\`. Where a database is named, no folder is used;
an empty \`--database ''\` turns to the folder again. \`copy\` looks at neither, but at \`--from\` and \`--to\`. Keys are shown once, on standard output, and never elsewhere; the
password of a database never.

A data folder that does not exist is made by \`serve\`, \`import\`, \`pull\`, \`demo\`,
\`organizations create\` and \`copy --to\`; a dry run makes none. Every other command ends with exit
code 1 and says that there is none. \`-h\` is short for \`--help\`, \`-V\` for \`--version\`.
`;

/** Every command with its full name, each before those below it. */
export function allCommands(command: Command = buildProgram(), above = ''): [name: string, Command][] {
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
