/**
 * Settings: options that also have an environment variable. The option is the only place that names
 * a setting; its variable follows from its name. The help, docs/settings.md and the tests read it.
 */
import { type Command, Option } from 'commander';

/** Variables of hosting platforms, read if the one of Corkboard is not set. */
const CUSTOMARY = new Map([
  ['CORKBOARD_HOST', 'HOST'],
  ['CORKBOARD_PORT', 'PORT'],
]);

/** An option whose variable is `CORKBOARD_` and its long name: `CORKBOARD_LOG_LEVEL`. */
export function setting(flags: string, help: string): Option {
  const option = new Option(flags, help);
  const variable = `CORKBOARD_${option.name().replaceAll('-', '_').toUpperCase()}`;
  const customary = CUSTOMARY.get(variable);
  if (customary !== undefined) option.description = `${help}; ${customary} is read, too`;
  return option.env(variable);
}

/**
 * Decides which variable each option reads, before the arguments are parsed. An empty variable
 * counts as not set.
 */
export function chooseVariables(command: Command): void {
  for (const option of command.options) {
    const { envVar } = option;
    if (envVar === undefined || process.env[envVar]) continue;
    const customary = CUSTOMARY.get(envVar);
    if (customary !== undefined && process.env[customary]) option.env(customary);
    else if (process.env[envVar] === '') delete option.envVar;
  }
  for (const below of command.commands) chooseVariables(below);
}
