/** Output of commands: results on standard output, everything else on standard error. */
import { escapeLineEnds } from '../../domain/json-text.ts';
import { concealKeys } from '../../keys/key-format.ts';

declare global {
  interface JSON {
    /** Part of JavaScript since 2025: `JSON.stringify` writes the text unchanged. */
    rawJSON(text: string): object;
  }
}

export interface JsonOption {
  readonly json?: boolean;
}

/** Passwords in URLs: before the @ and as a parameter. */
const PASSWORDS = /(\b[a-z][a-z\d+.-]*:\/\/[^\s:/?#]*):\S*@|([?&]password=)[^&\s]*/gi;

/** The text without the secrets of keys (decision 21) and the passwords in URLs. */
export function concealSecrets(text: string): string {
  return concealKeys(text).replace(PASSWORDS, (_password, address?: string, parameter?: string) =>
    address === undefined ? `${parameter}…` : `${address}:…@`,
  );
}

/** Lines on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A result on standard output: one JSON value with `--json`, otherwise lines for people. */
export function printResult(options: JsonOption, value: unknown, renderLines: () => string): void {
  print(options.json ? renderJson(value) : renderLines());
}

/**
 * A remark on standard error, without secrets and without control characters: texts of files and
 * servers must not control the terminal.
 */
export function remark(text: string): void {
  process.stderr.write(`${concealSecrets(text).replace(/[^\P{Cc}\n\t]/gu, ' ')}\n`);
}

/** JSON with all digits of a `bigint` as a number (decision 3), and null for absent values. */
export function renderJson(value: unknown, indent = 2): string {
  const exact = (_name: string, member: unknown) =>
    typeof member === 'bigint' ? JSON.rawJSON(String(member)) : member === undefined ? null : member;
  return escapeLineEnds(JSON.stringify(value, exact, indent));
}

/** A value as one line, for a cell of a table or the right side of a line; "-" if it is empty. */
export function renderCell(value: string | number | bigint | undefined): string {
  const text = typeof value === 'number' ? value.toLocaleString('en') : String(value ?? '');
  // Imported text must not control the terminal.
  return text.replace(/\p{Cc}/gu, ' ') || '-';
}

/** `1 event`, `2,500 events`. */
export function countOf(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count.toLocaleString('en')} ${noun}s`;
}

/** Lines of aligned columns under a heading; columns of numbers are aligned right. */
export function renderTable(
  heading: readonly string[],
  rows: readonly (readonly (string | number | bigint | undefined)[])[],
): string {
  const cells = [heading, ...rows].map((row) => row.map(renderCell));
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const right = heading.map((_, column) => rows.every((row) => /^(number|bigint)$/.test(typeof row[column])));
  const lines = cells.map((row) =>
    row.map((cell, column) =>
      right[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    ),
  );
  return lines.map((line) => line.join('  ').trimEnd()).join('\n');
}

/** Lines of names and values, with the values aligned. */
export function renderFields(
  fields: readonly (readonly [string, string | number | bigint | undefined])[],
): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${renderCell(value)}`).join('\n');
}

/** An instant for people, to the second and in UTC; undefined if there is none. */
export function renderInstant(instantMs: number | undefined): string | undefined {
  return instantMs === undefined ? undefined : `${new Date(instantMs).toISOString().slice(0, 19)}Z`;
}
