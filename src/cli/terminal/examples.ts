/** The examples at the end of the help of every command. */
import type { Command } from 'commander';

export function addExamples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  $ ${line}`)].join('\n'));
}
