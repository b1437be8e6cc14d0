/** The code blocks of a document, and programs to run them. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** The section of docs/recipes.md whose blocks `readers.test.ts` runs. */
export const READERS_SECTION = 'Exact ids in other programs';

export interface Block {
  /** The heading above the block, and the number of the block under that heading, from 1. */
  readonly name: string;
  readonly language: string;
  readonly code: string;
}

export function blocksOf(document: string): readonly Block[] {
  const blocks: Block[] = [];
  const page = readFileSync(join(import.meta.dirname, '../../docs', document), 'utf8');
  for (const section of page.split(/^#+ /m).slice(1)) {
    const heading = section.slice(0, section.indexOf('\n'));
    for (const [index, [, language = '', code = '']] of [
      ...section.matchAll(/^```(\w+)\n(.*?)^```$/gms),
    ].entries()) {
      blocks.push({ name: `${heading} ${index + 1}`, language, code });
    }
  }
  return blocks;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a block in a folder, where it writes its files, with the environment variables it reads. */
export async function runBlock(
  command: readonly [program: string, ...words: string[]],
  folder: string,
  variables: Readonly<Record<string, string>>,
): Promise<Ended> {
  const [program, ...words] = command;
  const child = spawn(program, words, { cwd: folder, env: { ...process.env, ...variables } });
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  return { code: child.exitCode, stdout, stderr };
}

/** Debian's own Python has Debian's libraries; a different Python on the PATH may lack them. */
export const PYTHONS = [process.env['CORKBOARD_PYTHON'] ?? 'python3', '/usr/bin/python3'] as const;

/** Whether a program exists and exits with 0. */
export function runs(program: string, ...words: readonly string[]): boolean {
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0;
}

/** The reason to skip a test: the first missing requirement. */
export function lacking(
  ...needs: readonly (readonly [what: string, isThere: () => boolean])[]
): string | false {
  const missing = needs.find(([, isThere]) => !isThere());
  return missing === undefined ? false : `${missing[0]} is not installed`;
}

const CLOSED_BY: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** The unmatched quotes and brackets of a text; empty if all match. */
export function unbalanced(code: string): string {
  const open: string[] = [];
  for (const [mark] of code.replaceAll(/"[^"\n]*"/g, '').matchAll(/["()[\]{}]/g)) {
    if (mark === CLOSED_BY[open.at(-1) ?? '']) open.pop();
    else open.push(mark);
  }
  return open.join('');
}
