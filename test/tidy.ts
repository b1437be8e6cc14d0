/**
 * Checks the prose of the repository: documents, comments, messages, labels and names of tests.
 * `node test/tidy.ts` prints every violation and ends with exit code 1 if there is one.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const MOST_COLUMNS = 100;

/** Phrases that need a second reading, or that have a plain word. They occur nowhere. */
export const BANNED: Readonly<Record<string, string>> = {
  'so many': 'the number, or "many"',
  whoever: 'the noun: the client, the user',
  nobody: 'no user, no client, no one',
  'for ever': '"without end", "forever"',
  stands: '"is", "is written", "is listed"',
  'goes by': '"uses", "follows"',
  'is told': '"receives", "is notified"',
  'passed over': '"skipped", "ignored"',
  wants: '"requires", "needs"',
  anew: '"again", "again from the start"',
  shall: '"must"',
};
const BANNED_PHRASE = new RegExp(`\\b(?:${Object.keys(BANNED).join('|').replaceAll(' ', '\\s+')})\\b`, 'giu');

const PROSE = new Set(['.md', '.ts', '.tsx', '.mts', '.mjs', '.css', '.yaml', '.yml', '.html', '.sh']);
const COMMENT = /^\s*(?:\/\/|\/?\*(?!\*\S)|# )/;
/** Longer than a line of prose can be: addresses, pragmas, and what is generated. */
const UNBREAKABLE = /https?:\/\/|biome-ignore|@ts-|^\s*\S+$|\S{80}/;

export interface Violation {
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

/** The violations of a file, in the order of its lines. */
export function findViolations(path: string, text: string): readonly Violation[] {
  const isDocument = extname(path) === '.md';
  let isCode = false;
  return text.split('\n').flatMap((line, at) => {
    if (isDocument && /^\s*```/.test(line)) isCode = !isCode;
    const isProse = isDocument ? !isCode && !/^(?: {4}|\t|\||!?\[)/.test(line) : COMMENT.test(line);
    const reasons = [...line.matchAll(BANNED_PHRASE)].map(
      ([phrase]) => `"${phrase}" has a plainer word: ${BANNED[phrase.toLowerCase().replaceAll(/\s+/g, ' ')]}`,
    );
    if (isProse && [...line].length > MOST_COLUMNS && !UNBREAKABLE.test(line)) {
      reasons.push(`is wider than ${MOST_COLUMNS} columns`);
    }
    return reasons.map((reason) => ({ line: at + 1, reason }));
  });
}

/** This file, which lists the phrases, and its test; the rest is not ours or is generated. */
const EXEMPT =
  /^(?:test\/tidy(?:\.test)?\.ts|CODE_OF_CONDUCT\.md|bench\/results\.md|bench\/neighbours\.md|src\/client\/schema-\w+\.ts)$/;

function proseFiles(): readonly string[] {
  const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return tracked.split('\0').filter((path) => PROSE.has(extname(path)) && !EXEMPT.test(path));
}

if (import.meta.main) {
  for (const path of proseFiles()) {
    for (const { line, reason } of findViolations(path, readFileSync(join(ROOT, path), 'utf8'))) {
      process.stdout.write(`${path}:${line}: ${reason}\n`);
      process.exitCode = 1;
    }
  }
}
