/** What `corkboard import` reads beside bundles: the options, and the list of formats (docs/import.md). */
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { AppError } from '../app-error.ts';
import { parseInstant } from '../dataset/instant.ts';
import { RECORD_KINDS, type RecordKind } from '../dataset/staging.ts';
import { type DateOrder, FORMAT_TITLES } from '../ingest/formats/choices.ts';
import type { Foreign } from '../ingest/translating.ts';
import { isZone } from '../zone.ts';
import { type JsonOption, printResult, renderTable } from './output.ts';

/** Who has written the files, and what they do not say. */
export interface WrittenBy {
  readonly as?: string;
  readonly timeZone?: string;
  readonly dateOrder?: DateOrder;
  readonly mapping?: string;
  readonly fromLrs?: string;
  readonly since?: string;
}

/** What is imported: paths, or for a learning record store the stream of its statements. Throws `option-malformed`. */
export function readPaths(paths: readonly string[], { fromLrs, since }: WrittenBy): readonly string[] {
  if (fromLrs === undefined) {
    if (since !== undefined) throw new AppError('option-malformed', '--since is for --from-lrs.');
    if (paths.length > 0) return paths;
    throw new AppError(
      'option-malformed',
      'Name what is to be imported: files, folders, or - for standard input.',
    );
  }
  if (paths.length > 0)
    throw new AppError('option-malformed', '--from-lrs takes the place of paths. Give one of both.');
  return ['-'];
}

/** What `-` stands for. Throws `option-malformed`. */
export async function readStream({ fromLrs, since }: WrittenBy): Promise<Readable> {
  if (fromLrs === undefined) return process.stdin;
  const url = URL.canParse(fromLrs) ? new URL(fromLrs) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new AppError(
      'option-malformed',
      '--from-lrs wants a URL like https://lrs.example.org/xapi; credentials belong into CORKBOARD_LRS_AUTHORIZATION.',
    );
  }
  const sinceMs = since === undefined ? undefined : parseInstant(since);
  if (since !== undefined && sinceMs === undefined) {
    throw new AppError(
      'option-malformed',
      `--since ${since} is no instant. Write one with its offset, like 2026-11-01T00:00:00Z.`,
    );
  }
  const { readStatements } = await import('../ingest/record-store.ts');
  const authorization = process.env['CORKBOARD_LRS_AUTHORIZATION'];
  if (authorization !== undefined && !/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(authorization)) {
    throw new AppError(
      'option-malformed',
      'CORKBOARD_LRS_AUTHORIZATION is no header field, like "Basic dTpw".',
    );
  }
  return Readable.from(
    readStatements({
      url: fromLrs,
      authorization,
      since: sinceMs === undefined ? undefined : new Date(sinceMs).toISOString(),
    }),
    { objectMode: false },
  );
}

interface As {
  readonly as?: RecordKind | undefined;
  readonly foreign?: Foreign;
}

export function printFormats(options: JsonOption): void {
  const formats = Object.entries(FORMAT_TITLES);
  const described = formats.map(([format, title]) => ({ format, title }));
  printResult(options, described, () => renderTable(['FORMAT', 'WHAT'], formats));
}

/** Throws `option-malformed` and `file-unreadable`. */
export async function readAs(options: WrittenBy): Promise<As> {
  const { timeZone, dateOrder, mapping, fromLrs } = options;
  if (fromLrs !== undefined && (options.as ?? 'xapi') !== 'xapi') {
    throw new AppError(
      'option-malformed',
      'A learning record store has statements: --as xapi, or leave it out.',
    );
  }
  const as = fromLrs === undefined ? options.as : 'xapi';
  const { FORMATS } = await import('../ingest/formats/formats.ts');
  const format = Object.values(FORMATS).find(({ name }) => name === as);
  if (format === undefined) {
    refuseWithoutFormat({ 'time-zone': timeZone, 'date-order': dateOrder, mapping });
    return { as: RECORD_KINDS.find((kind) => kind === as) };
  }
  if (!format.isLocal && (timeZone ?? dateOrder) !== undefined) {
    throw new AppError(
      'option-malformed',
      `Times of ${format.name} have a zone; leave out --time-zone and --date-order.`,
    );
  }
  if (timeZone !== undefined && !isZone(timeZone)) {
    throw new AppError('option-malformed', `There is no time zone ${timeZone}. Name one like Europe/Paris.`);
  }
  const read = mapping === undefined ? undefined : await readMapping(mapping);
  return { foreign: { format, options: { timeZone, dateOrder, mapping: read } } };
}

function refuseWithoutFormat(options: Readonly<Record<string, string | undefined>>): void {
  const given = Object.keys(options).find((name) => options[name] !== undefined);
  if (given === undefined) return;
  const formats = Object.keys(FORMAT_TITLES).join('|');
  throw new AppError('option-malformed', `--${given} is for formats of other software: --as ${formats}.`);
}

type Mapping = Readonly<Record<string, string | null>>;

/** What words of the format stand for. */
async function readMapping(path: string): Promise<Mapping> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new AppError('file-unreadable', `The mapping ${path} cannot be read.`, { cause: error });
  });
  const mapping = parse(text);
  if (typeof mapping !== 'object' || mapping === null || Array.isArray(mapping)) {
    throw new AppError('option-malformed', `The mapping ${path} has to be one JSON object.`);
  }
  const entries = Object.entries(mapping);
  const wrong = entries.find(([, meaning]) => meaning !== null && !isMeaning(meaning));
  if (wrong === undefined) return Object.fromEntries(entries);
  throw new AppError(
    'option-malformed',
    `The mapping ${path} has to give "${wrong[0]}" a meaning like "pin.visited", or null to drop it.`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isMeaning(value: unknown): value is string {
  return typeof value === 'string' && /^[^.]+\.[^.]+$/.test(value);
}
