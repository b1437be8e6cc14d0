/**
 * `docs/settings.md`, generated from the options of `serve`. After a change, generate it again with
 * `node test/cli/settings-document.ts`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Option } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';

const PROGRAM = await buildProgram();

export const SETTINGS_DOCUMENT = join(import.meta.dirname, '../../docs/settings.md');

const INTRODUCTION = `# Settings

<!-- Generated from the options: node test/cli/settings-document.ts -->

Every option of \`corkboard serve\` has an environment variable. An option takes precedence over its
variable. An empty variable counts as not set. An option that can be repeated replaces the variable;
in the variable, separate values with commas (limits with spaces).
[operations.md](operations.md#fair-shares) lists the limits.

\`PORT\` and \`HOST\`, which hosting platforms set, are read if \`CORKBOARD_PORT\` and
\`CORKBOARD_HOST\` are not set. Some shells and build tools set \`HOST\` to something else: then set
\`CORKBOARD_HOST=127.0.0.1\`.

`;

const OTHERS = `
All commands read the variables of the first five. \`demo\` also reads those of \`--host\`, \`--port\`,
\`--log-level\` and \`--resident-limit\`. Other variables:

| variable | meaning |
|---|---|
| \`CORKBOARD_ORGANIZATION\` | the organization of commands that require one, instead of \`--organization\`. Without both, they use the only organization of the store |
| \`CORKBOARD_PULL_KEY\` | the key for \`pull\`, instead of \`--key-file\` |
| \`CORKBOARD_LRS_AUTHORIZATION\` | the \`Authorization\` header for \`import --from-lrs\` |
| \`PGPASSFILE\` and other variables of PostgreSQL | the password and parameters of the database connection |
`;

/** The settings of `serve`, those of all commands first. */
export function settingsOf(): readonly Option[] {
  const serve = PROGRAM.commands.find((command) => command.name() === 'serve')!;
  return [PROGRAM, serve].flatMap(({ options }) =>
    options.filter(({ hidden, long }) => !hidden && long !== '--version'),
  );
}

function renderDefault({ defaultValue, defaultValueDescription, description }: Option): string {
  if (description.includes('(default: ')) return '';
  return defaultValueDescription ?? (defaultValue === undefined ? '' : `\`${defaultValue}\``);
}

export function renderSettings(): string {
  const rows = settingsOf().map((option) => {
    const flags = option.flags.replaceAll('|', '\\|');
    const meaning = option.description.replaceAll('|', '\\|');
    return `| \`${flags}\` | \`${option.envVar}\` | ${renderDefault(option)} | ${meaning} |\n`;
  });
  return `${INTRODUCTION}| option | variable | default | meaning |\n|---|---|---|---|\n${rows.join('')}${OTHERS}`;
}

if (import.meta.main) writeFileSync(SETTINGS_DOCUMENT, renderSettings());
