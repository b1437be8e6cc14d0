/** `corkboard completion`: prints a script with which a shell completes commands and options. */
import { Argument, type Command } from 'commander';
import { renderCompletion, SHELLS, type Shell } from '../terminal/completion.ts';
import { addExamples } from '../terminal/examples.ts';
import { print } from '../terminal/output.ts';

/** `buildAll` builds the program with all commands. */
export function addCompletionCommand(program: Command, buildAll: () => Promise<Command>): void {
  const completion = program
    .command('completion')
    .summary('Print a script for completion in a shell.')
    .description(
      'Print a script with which a shell completes commands, options and their values. Load it when the shell starts, as in the examples.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: Shell) => print(renderCompletion(await buildAll(), shell).trimEnd()));
  addExamples(completion, [
    "echo 'source <(corkboard completion bash)' >> ~/.bashrc",
    "echo 'source <(corkboard completion zsh)' >> ~/.zshrc",
    'corkboard completion fish > ~/.config/fish/completions/corkboard.fish',
  ]);
}
