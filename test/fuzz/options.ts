/** The options of `npm run fuzz`. */
import { parseArgs } from 'node:util';
import { TARGETS } from './targets.ts';

const NAMES = TARGETS.map(({ name }) => name);

export const HELP = `npm run fuzz -- [target…] [options]

  Targets, all of them unless some are named:
    ${NAMES.join(', ')}

  --minutes N     how long each target is fuzzed (1)
  --cases N       the maximum number of cases of each
  --seed N        from which the cases are made; another one each time, and printed
  --out FOLDER    where cases that fail are written (fuzz-findings)
  --replay FILE   instead: runs a case that was written
  --help          this text
`;

export interface Options {
  readonly targets: readonly string[];
  readonly minutes: number;
  readonly cases: number;
  readonly seed: number;
  readonly out: string;
  readonly replay: string | undefined;
  readonly help: boolean;
}

/** Throws an error with a full sentence if the arguments are invalid. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: '1' },
      cases: { type: 'string', default: '1000000000' },
      seed: { type: 'string' },
      out: { type: 'string', default: 'fuzz-findings' },
      replay: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw new Error(`There is no target ${unknown}. The targets are ${NAMES.join(', ')}.`);
  return {
    targets: positionals.length === 0 ? NAMES : positionals,
    minutes: readNumber('minutes', values.minutes),
    cases: readNumber('cases', values.cases),
    seed: readNumber('seed', values.seed ?? String(1 + Math.floor(Math.random() * 1e6))),
    out: values.out,
    replay: values.replay,
    help: values.help,
  };
}

function readNumber(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && number <= 1e9)) throw new Error(`--${name} requires a number above 0.`);
  return number;
}
