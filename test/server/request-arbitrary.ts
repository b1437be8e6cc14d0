/**
 * Requests generated from an OpenAPI document. Each parameter has values that it allows and others,
 * in many spellings.
 */
import fc, { type Arbitrary } from 'fast-check';
import type { OpenApiDocument, Parameter, ParameterSchema } from './document-oracle.ts';

export interface BuiltRequest {
  /** The path in the document. */
  readonly path: string;
  /** The request target below the base, encoded. */
  readonly target: string;
  /** The values of each parameter, decoded. */
  readonly names: readonly Given[];
  readonly query: readonly Given[];
}

export interface Given {
  /** Absent: no parameter of the operation. */
  readonly parameter: Parameter | undefined;
  readonly name: string;
  readonly text: string;
}

const NASTY = [
  ...[
    '',
    ' ',
    '0',
    '-0',
    '-1',
    '00',
    '1',
    '1.0',
    '1e3',
    '0x1',
    '+1',
    'NaN',
    'null',
    'undefined',
    'true',
    '[]',
  ],
  ...['9007199254740993', '9223372036854775807', '9223372036854775808', '-9223372036854775809'],
  ...['99999999999', '100000000000', '-99999999999', '-100000000000', '253402300799999', '253402300800000'],
  ...[
    '2018-02-29T00:00:00Z',
    '2018-03-12T17:00:45.567+00:00',
    '0000-01-01T00:00:00Z',
    'json',
    'csv',
    'board',
  ],
  ...[
    "'",
    '"',
    "' OR 1=1 --",
    '<script>',
    '../../etc/passwd',
    '\0',
    '\n',
    '\r\n\r\n',
    '%',
    '%00',
    '\u{1f642}',
  ],
  ...[
    '{{7*7}}',
    '$' + '{7}',
    '__proto__',
    'constructor',
    '\ud7ff',
    '\u202e',
    'ä'.repeat(300),
    '9'.repeat(2_000),
  ],
];

const NAMES = [
  'Start',
  'stat',
  'limits',
  'since',
  'fields',
  '__proto__',
  'toString',
  '',
  'apikey',
  'x'.repeat(500),
];

/** `known` are existing values, for the parameters in paths. */
export function builtRequest(document: OpenApiDocument, known: readonly string[]): Arbitrary<BuiltRequest> {
  const paths = Object.entries(document.paths);
  return fc.constantFrom(...paths).chain(([path, { get }]) => {
    const names = get.parameters.filter((parameter) => parameter.in === 'path');
    const parameters = get.parameters.filter((parameter) => parameter.in === 'query');
    return fc
      .record({
        names: fc.tuple(...names.map((parameter) => nameOf(parameter, known))),
        query: fc.array(queryOf(parameters), { maxLength: 4, size: 'max' }),
        seed: fc.nat(),
      })
      .map(({ names: namesGiven, query, seed }) => {
        const spell = speller(seed);
        const filled = namesGiven.reduce(
          (text, { name, text: value }) => text.replace(`{${name}}`, () => spell(value)),
          path,
        );
        const search = query.map(({ name, text }) => `${spell(name)}=${spell(text)}`).join('&');
        return { path, target: search === '' ? filled : `${filled}?${search}`, names: namesGiven, query };
      });
  });
}

/** Header fields that could affect a response, valid or not. */
export function headerFields(): Arbitrary<Record<string, string>> {
  const text = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  });
  const oneOf = (...values: string[]) => fc.oneof(fc.constantFrom(...values), text);
  return fc.record(
    {
      accept: oneOf(
        '*/*',
        'text/csv',
        'application/vnd.apache.parquet',
        'application/x-ndjson',
        'text/*;q=0.5, application/json;q=0',
        'image/png',
        ';;q=x',
      ),
      'accept-encoding': oneOf(
        'gzip',
        'zstd',
        'br',
        '*',
        'identity;q=0',
        'gzip;q=0, *;q=0',
        'gzip;q=nan',
        '',
      ),
      'accept-language': oneOf('de', '*'),
      'if-match': oneOf('*', '"x"', 'W/"x", "y"', '"'),
      'if-none-match': oneOf('*', '"x"', 'W/"x", "y"', '"'),
      'if-modified-since': oneOf('Sat, 01 Jan 2000 00:00:00 GMT'),
      range: oneOf('bytes=0-1', 'bytes=9-1'),
      origin: oneOf('null', 'https://evil.example'),
      expect: oneOf('100-continue', 'nothing'),
      'content-type': oneOf('application/json', 'text/plain; charset=none'),
      'content-length': fc.constantFrom('0', '5', '70000'),
      'x-request-id': oneOf('abc-1', 'x'.repeat(100)),
      'x-http-method-override': oneOf('DELETE'),
      'x-forwarded-host': oneOf('evil.example'),
      cookie: oneOf('a=b'),
    },
    { requiredKeys: [] },
  );
}

function nameOf(parameter: Parameter, known: readonly string[]): Arbitrary<Given> {
  const text = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...known) },
    { weight: 2, arbitrary: textOfSchema(parameter.schema) },
    { weight: 1, arbitrary: anyText() },
  );
  // An empty segment makes a different path.
  return text
    .filter((value) => value !== '')
    .map((value) => ({ parameter, name: parameter.name, text: value }));
}

function queryOf(parameters: readonly Parameter[]): Arbitrary<Given> {
  const ofDocument = () =>
    fc
      .constantFrom(...parameters)
      .chain((parameter) =>
        fc
          .oneof(
            { weight: 3, arbitrary: textOfSchema(parameter.schema) },
            { weight: 1, arbitrary: anyText() },
          )
          .map((text) => ({ parameter, name: parameter.name, text })),
      );
  const known = parameters.map(({ name }) => name);
  const unknown = fc
    .record({ name: fc.oneof(fc.constantFrom(...NAMES), anyText()), text: anyText() })
    .filter(({ name }) => !known.includes(name))
    .map((given) => ({ parameter: undefined, ...given }));
  if (parameters.length === 0) return unknown;
  return fc.oneof({ weight: 9, arbitrary: ofDocument() }, { weight: 1, arbitrary: unknown });
}

/** A text that the schema accepts. */
function textOfSchema(schema: ParameterSchema): Arbitrary<string> {
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(textOfSchema));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.type === 'integer') {
    if (schema.format === 'int64') return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
    return fc.maxSafeInteger().map((value) => String(inside(value, schema)));
  }
  if (schema.format === 'date-time') return dateTime();
  if (schema.pattern !== undefined) {
    return fc.stringMatching(new RegExp(schema.pattern)).map((text) => text.slice(0, schema.maxLength));
  }
  return fc.string({ unit: 'grapheme', minLength: schema.minLength ?? 0, maxLength: 50 });
}

function inside(
  value: number,
  { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: ParameterSchema,
) {
  return value < minimum || value > maximum ? minimum + (Math.abs(value) % (maximum - minimum + 1)) : value;
}

function dateTime(): Arbitrary<string> {
  const date = fc.date({ min: new Date('0001-01-03'), max: new Date('9999-12-29'), noInvalidDate: true });
  const offset = fc.constantFrom('Z', 'z', '+00:00', '-00:00', '+14:00', '-12:30', '+23:59');
  return fc.tuple(date, offset).map(([instant, zone]) => instant.toISOString().replace('Z', zone));
}

function anyText(): Arbitrary<string> {
  return fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'binary', maxLength: 20 }), fc.string());
}

/**
 * Percent-encodes necessary characters, and some that need no encoding. The decoded text does not
 * change.
 */
function speller(seed: number): (text: string) => string {
  let state = seed;
  return (text) =>
    [...text.toWellFormed()]
      .map((character) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 1;
        return state % 7 === 0 ? encodeAll(character) : encodeURIComponent(character);
      })
      .join('');
}

function encodeAll(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}
