/** The URL and the key of a different server, for commands that read from it. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { Option } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import { readTextInput } from '../terminal/text-input.ts';

export interface SourceKeyOptions {
  readonly key?: string;
  readonly keyFile?: string;
}

/** `variable`: the environment variable that can hold the key. */
export function keyFileOption(variable: string): Option {
  return new Option(
    '--key-file <file>',
    `file with the key; otherwise ${variable} is the key, or the command prompts for it`,
  );
}

export function keyInputOption(): Option {
  return new Option('--key <->', 'read the key from standard input; the only value is -');
}

/** Throws `option-malformed`. */
export function checkSourceUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url !== undefined && /^https?:$/.test(url.protocol) && isPlain) return;
  throw new AppError('option-malformed', 'The URL must be like https://data.example.org/a, without a key.');
}

/**
 * Reads the key only from sources that other users of the machine cannot see. Throws
 * `option-malformed`, `file-unreadable`.
 */
export async function readSourceKey({ key, keyFile }: SourceKeyOptions, variable: string): Promise<string> {
  if (key !== undefined && key !== '-') {
    throw new AppError(
      'option-malformed',
      `A key on the command line is visible in the process list. Use --key-file FILE, ${variable}, or --key - with the key on standard input.`,
    );
  }
  if (key !== undefined && keyFile !== undefined) {
    throw new AppError('option-malformed', 'Use either --key-file or --key -, not both.');
  }
  const named = key ?? keyFile;
  const text =
    named === undefined
      ? (process.env[variable] ?? (await promptForKey(variable)))
      : await readTextInput(named);
  const trimmed = text.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new AppError('option-malformed', 'The key must be one line of printable characters.');
}

async function promptForKey(variable: string): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new AppError(
      'option-malformed',
      `No key was given. Use --key-file FILE, ${variable}, or --key - with the key on standard input.`,
    );
  }
  process.stderr.write('Key: ');
  // Typed characters are not shown.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}
