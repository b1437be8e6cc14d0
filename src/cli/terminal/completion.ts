/**
 * Scripts that let a shell complete commands, options and their values. They are made from the
 * commands themselves, and complete file names where they know nothing better.
 */
import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** zsh reads the script of bash, if completion is on. */
const ZSH_START = `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
autoload -Uz bashcompinit && bashcompinit
`;

/** What can follow a command. */
interface CommandPlace {
  /** The words of the command, like `corkboard keys create`. */
  readonly path: string;
  readonly commands: readonly Command[];
  readonly options: readonly Option[];
}

export function renderCompletion(program: Command, shell: Shell): string {
  const places = placesOf(program, program.name(), []);
  const name = program.name();
  if (shell === 'fish') return renderFish(name, places);
  const bash = renderBash(name, places);
  return shell === 'bash' ? bash : ZSH_START + bash;
}

/** The command and all commands below it. Options of a command also work below it. */
function placesOf(command: Command, path: string, inherited: readonly Option[]): readonly CommandPlace[] {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...inherited];
  const below = command.commands.flatMap((each) =>
    placesOf(
      each,
      `${path} ${each.name()}`,
      options.filter((option) => option.long !== '--help'),
    ),
  );
  return [{ path, commands: command.commands, options }, ...below];
}

function namesOf({ long, short }: Option): readonly string[] {
  return [long, short].filter((name) => name !== undefined);
}

function renderBash(name: string, places: readonly CommandPlace[]): string {
  const known = places.slice(1).map(({ path }) => `"${path}"`);
  const values = places.flatMap(({ path, options }) =>
    options.flatMap((option) => {
      const choices = option.argChoices?.join(' ');
      const patterns = namesOf(option).map((each) => `"${path} ${each}"`);
      return choices === undefined ? [] : [`    ${patterns.join('|')}) words="${choices}" ;;`];
    }),
  );
  const takers = places.flatMap(({ path, options }) =>
    options
      .filter(({ required, argChoices }) => required && argChoices === undefined)
      .flatMap(namesOf)
      .map((each) => `"${path} ${each}"`),
  );
  const words = places.map(({ path, commands, options }) => {
    const all = [...commands.map((command) => command.name()), ...options.flatMap(namesOf)];
    return `      "${path}") words="${all.join(' ')}" ;;`;
  });
  return `_${name}_completion() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local place=${name} words= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place $word" in
    ${known.join('|')}) place="$place $word" ;;
    esac
  done
  case "$place $before" in
${values.join('\n')}
    ${takers.join('|')}) return ;;
    *)
      case "$place" in
${words.join('\n')}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name}_completion ${name}
`;
}

function renderFish(name: string, places: readonly CommandPlace[]): string {
  const lines = places.flatMap(({ path, commands, options }) => {
    const condition = conditionOf(path, commands);
    const start = `complete -c ${name} -n ${quoted(condition)}`;
    return [
      ...commands.map((command) => `${start} -f -a ${command.name()} -d ${quoted(command.summary())}`),
      ...options.map((option) => `${start}${renderFishOption(option)}`),
    ];
  });
  return `${lines.join('\n')}\n`;
}

/** Whether the words so far name this command and none below it. */
function conditionOf(path: string, below: readonly Command[]): string {
  const [, ...words] = path.split(' ');
  const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`);
  const not = below.map((command) => command.name()).join(' ');
  return [...seen, ...(not === '' ? [] : [`not __fish_seen_subcommand_from ${not}`])].join('; and ');
}

function renderFishOption(option: Option): string {
  const { long, short, required, argChoices, description } = option;
  const names = [long && `-l ${long.slice(2)}`, short && `-s ${short.slice(1)}`].filter(Boolean);
  const value = argChoices === undefined ? '' : ` -f -a ${quoted(argChoices.join(' '))}`;
  return ` ${names.join(' ')}${required ? ' -r' : ''}${value} -d ${quoted(description)}`;
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
