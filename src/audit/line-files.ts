/** Numbered files of lines, of which lines are only added to the last one. */
import { createReadStream, readdirSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../system/file-errors.ts';

const LINE_END = 0x0a;
const NUMBER_DIGITS = 12;
const TAIL_BYTES = 64 * 1024;

export interface NumberedFile {
  readonly name: string;
  readonly number: number;
}

export function numberedName(prefix: string, number: number): string {
  return `${prefix}${String(number).padStart(NUMBER_DIGITS, '0')}.ndjson`;
}

/** Ascending by number. Empty if the folder does not exist. */
export function numberedFiles(folder: string, prefix: string): readonly NumberedFile[] {
  return namesIn(folder)
    .flatMap((name) => {
      const number = Number(name.slice(prefix.length, -'.ndjson'.length));
      return name === numberedName(prefix, number) ? [{ name, number }] : [];
    })
    .sort((one, other) => one.number - other.number);
}

/** Empty if the folder does not exist. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

export interface ReadLine {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  /** False for the end of a file without a line end. */
  readonly isComplete: boolean;
}

/** The lines of a file, read as they are needed. */
export async function* linesOf(path: string): AsyncGenerator<ReadLine> {
  let rest = Buffer.alloc(0);
  let number = 1;
  for await (const chunk of createReadStream(path)) {
    const bytes = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let end = bytes.indexOf(LINE_END); end >= 0; end = bytes.indexOf(LINE_END, start)) {
      yield { text: bytes.toString('utf8', start, end), number, isComplete: true };
      number += 1;
      start = end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
  }
  if (rest.length > 0) yield { text: rest.toString(), number, isComplete: false };
}

export interface FileTail {
  /** The last complete line; absent if there is none. */
  readonly line: string | undefined;
  readonly bytes: number;
  /** Bytes up to the end of the last complete line. */
  readonly completeBytes: number;
}

/** The end of a file, without reading the rest of it. */
export async function tailOf(folder: string, name: string): Promise<FileTail> {
  const file = await open(join(folder, name), 'r');
  try {
    const { size } = await file.stat();
    for (let length = TAIL_BYTES; ; length *= 2) {
      const start = Math.max(0, size - length);
      const bytes = await readRange(file, start, size);
      const end = bytes.lastIndexOf(LINE_END);
      const before = end < 1 ? -1 : bytes.lastIndexOf(LINE_END, end - 1);
      if (start > 0 && before < 0) continue;
      const line = end < 0 ? undefined : bytes.toString('utf8', before + 1, end);
      return { line, bytes: size, completeBytes: start + end + 1 };
    }
  } finally {
    await file.close();
  }
}

async function readRange(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
  return buffer.subarray(0, bytesRead);
}
