/** Inputs of `corkboard import` other than bundles: their options, and the list of formats. */
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { AppError } from '../../domain/app-error.ts';
import { parseInstant } from '../../domain/instant.ts';
import type { ExternalFormat } from '../../ingest/external-format.ts';
import {
  type BoardSource,
  type DateOrder,
  FORMAT_TITLES,
  type FormatName,
} from '../../ingest/formats/choices.ts';
import { isCodePage } from '../../ingest/input/code-pages.ts';
import { RECORD_KINDS, type RecordKind } from '../../store/staging.ts';
import { type JsonOption, printResult, renderTable } from '../terminal/output.ts';

/** The software that wrote the files, and facts that the files do not contain. */
export interface WrittenBy {
  readonly as?: string;
  readonly timeZone?: string;
  readonly dateOrder?: DateOrder;
  readonly boardFrom?: BoardSource;
  readonly mapping?: string;
  readonly encoding?: string;
  readonly fromLrs?: string;
  readonly since?: string;
}

/** The paths to import; `-` for a learning record store. Throws `option-malformed`. */
export function readPaths(paths: readonly string[], { fromLrs, since }: WrittenBy): readonly string[] {
  if (fromLrs === undefined) {
    if (since !== undefined) throw new AppError('option-malformed', '--since requires --from-lrs.');
    if (paths.length > 0) return paths;
    throw new AppError('option-malformed', 'Name files or folders to import, or - for standard input.');
  }
  if (paths.length > 0) throw new AppError('option-malformed', 'Use either --from-lrs or paths, not both.');
  return ['-'];
}

/** The stream that the path `-` names. Throws `option-malformed`. */
export async function readStream({ fromLrs, since }: WrittenBy): Promise<Readable> {
  if (fromLrs === undefined) return process.stdin;
  const url = URL.canParse(fromLrs) ? new URL(fromLrs) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new AppError(
      'option-malformed',
      '--from-lrs requires a URL like https://lrs.example.org/xapi; put credentials into CORKBOARD_LRS_AUTHORIZATION.',
    );
  }
  const sinceMs = since === undefined ? undefined : parseInstant(since);
  if (since !== undefined && sinceMs === undefined) {
    throw new AppError(
      'option-malformed',
      `--since ${since} is not an instant. Use one with an offset, like 2026-11-01T00:00:00Z.`,
    );
  }
  const { readStatements } = await import('../../ingest/remote/record-store.ts');
  const authorization = process.env['CORKBOARD_LRS_AUTHORIZATION'];
  if (authorization !== undefined && !/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(authorization)) {
    throw new AppError(
      'option-malformed',
      'CORKBOARD_LRS_AUTHORIZATION must be the value of an Authorization header, like "Basic dTpw".',
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
  readonly foreign?: ExternalFormat;
}

export function printFormats(options: JsonOption): void {
  const formats = Object.entries(FORMAT_TITLES);
  const described = formats.map(([format, title]) => ({ format, title }));
  printResult(options, described, () => renderTable(['FORMAT', 'DESCRIPTION'], formats));
}

/** Throws `option-malformed` and `file-unreadable`. */
export async function readAs(options: WrittenBy): Promise<As> {
  const { timeZone, dateOrder, boardFrom, mapping, encoding, fromLrs } = options;
  if (fromLrs !== undefined && (options.as ?? 'xapi') !== 'xapi') {
    throw new AppError(
      'option-malformed',
      '--from-lrs imports xAPI statements. Use --as xapi, or leave out --as.',
    );
  }
  const as = fromLrs === undefined ? options.as : 'xapi';
  const kind = RECORD_KINDS.find((each) => each === as);
  if (as === undefined || kind !== undefined) {
    refuseWithoutFormat({
      'time-zone': timeZone,
      'date-order': dateOrder,
      'board-from': boardFrom,
      mapping,
      encoding,
    });
    return { as: kind };
  }
  const { FORMATS } = await import('../../ingest/formats/formats.ts');
  // The option has only these choices.
  const format = FORMATS[as as FormatName];
  if (!format.isLocal && (timeZone ?? dateOrder) !== undefined) {
    throw new AppError(
      'option-malformed',
      `Times in ${format.name} files have a time zone. Leave out --time-zone and --date-order.`,
    );
  }
  if (boardFrom !== undefined && format.name !== 'xapi') {
    throw new AppError('option-malformed', `--board-from requires --as xapi, not ${format.name}.`);
  }
  const { expectedZone, zoneOf } = await import('../../system/zones.ts');
  if (timeZone !== undefined && zoneOf(timeZone) === undefined) {
    throw new AppError('option-malformed', `--time-zone ${timeZone} must be ${expectedZone(timeZone)}.`);
  }
  checkEncoding(encoding, format);
  const read = mapping === undefined ? undefined : await readMapping(mapping);
  return { foreign: { format, options: { timeZone, dateOrder, boardFrom, mapping: read }, encoding } };
}

function checkEncoding(encoding: string | undefined, { name, forms }: ExternalFormat['format']): void {
  if (encoding === undefined) return;
  if (!forms.includes('csv')) {
    throw new AppError('option-malformed', `Files of ${name} are always UTF-8. Leave out --encoding.`);
  }
  if (isCodePage(encoding)) return;
  throw new AppError(
    'option-malformed',
    `There is no code page ${encoding}. Use a name of the web, like shift_jis, gbk, windows-1250, iso-8859-2 or utf-16le.`,
  );
}

function refuseWithoutFormat(options: Readonly<Record<string, string | undefined>>): void {
  const given = Object.keys(options).find((name) => options[name] !== undefined);
  if (given === undefined) return;
  const formats = Object.keys(FORMAT_TITLES).join('|');
  throw new AppError('option-malformed', `--${given} requires a format of other software: --as ${formats}.`);
}

type Mapping = Readonly<Record<string, string | null>>;

/** Reads the mapping from terms of the format to meanings. */
async function readMapping(path: string): Promise<Mapping> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new AppError('file-unreadable', `Cannot read the mapping ${path}.`, { cause: error });
  });
  const mapping = parse(text);
  if (typeof mapping !== 'object' || mapping === null || Array.isArray(mapping)) {
    throw new AppError('option-malformed', `The mapping ${path} must be one JSON object.`);
  }
  const entries = Object.entries(mapping);
  const wrong = entries.find(([, meaning]) => meaning !== null && !isMeaning(meaning));
  if (wrong === undefined) return Object.fromEntries(entries);
  throw new AppError(
    'option-malformed',
    `The mapping ${path} must map "${wrong[0]}" to an event like "pin.visited", an action like "visited", or to null to drop it.`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Not a type alone, which lacks its action. */
function isMeaning(value: unknown): value is string {
  return typeof value === 'string' && /^(?!(?:board|pin)$)[^.]+(?:\.[^.]+)?$/.test(value);
}
