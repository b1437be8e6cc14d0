/**
 * Checks responses against an OpenAPI document: which statuses an operation may return, with which
 * bodies and header fields. Also checks some rules of HTTP that the document omits, such as that
 * HEAD has no body.
 */
import assert from 'node:assert/strict';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { OTHER_REFUSALS } from '../../src/server/routes/openapi-parts.ts';
import type { RawReply } from './stand.ts';
import { strict } from './strict-document.ts';

export interface ParameterSchema {
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly ParameterSchema[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly schema: ParameterSchema;
}

interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: { readonly contentSchema?: unknown } }>>;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: unknown;
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Oracle {
  readonly document: OpenApiDocument;
  /** Whether a parameter may have this text as its value. */
  accepts(schema: ParameterSchema, text: string): boolean;
  /**
   * Throws if a response to GET or HEAD does not conform; without a path, to the document as a
   * whole.
   */
  check(reply: RawReply, path: string | undefined, method: string): void;
}

const FORMATS = {
  // Larger numbers lose digits in JavaScript, but remain integers.
  int64: { type: 'number', validate: Number.isInteger },
  'date-time': (text: string) =>
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(text) &&
    !Number.isNaN(Date.parse(text.toUpperCase())),
  'uri-reference': (text: string) => /^[\x21-\x7e]*$/.test(text) && URL.canParse(text, 'http://host'),
} as const;

/** Checks more strictly than the document as it is published (`strict-document.ts`). */
export function openOracle(published: OpenApiDocument): Oracle {
  const document = strict(published);
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS });
  ajv.addSchema(document, 'document');
  const compiled = new Map<string, ValidateFunction>();

  function judge(schema: object): ValidateFunction {
    const name = JSON.stringify(schema);
    const validate = compiled.get(name) ?? ajv.compile(schema);
    compiled.set(name, validate);
    return validate;
  }

  function assertConforms(pointer: readonly string[], value: unknown): void {
    const path = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
    const validate = judge({ $ref: `document#/${path.join('/')}` });
    assert.ok(validate(value), `${pointer.join(' > ')}: ${ajv.errorsText(validate.errors)}`);
  }

  function checkBody(path: string, reply: RawReply, type: string): void {
    // The content of Parquet files is compared elsewhere (test/properties/parquet.test.ts).
    if (type === 'application/vnd.apache.parquet') {
      assert.match(reply.body, /^PAR1.*PAR1$/s);
      return;
    }
    const pointer = ['paths', path, 'get', 'responses', '200', 'content', type, 'schema'];
    const text = textOf(reply);
    assertConforms(pointer, type === 'application/json' ? JSON.parse(text) : text);
    if (type !== 'application/x-ndjson') return;
    const items = [...pointer, 'contentSchema', 'items'];
    assert.match(text, /^(.+\n)*$/);
    for (const line of text.split('\n').slice(0, -1)) assertConforms(items, JSON.parse(line));
  }

  return {
    document,
    accepts: (schema, text) => judge(schema)(text) || (isIdentifier(text) && judge(schema)(Number(text))),
    check(reply, path, method) {
      const operations = path === undefined ? Object.values(document.paths) : [document.paths[path]];
      const documented = operations.flatMap((operation) => Object.keys(operation?.get.responses ?? {}));
      assert.ok(documented.includes('default'));
      // 206 is described with 200: generators would merge a response without a schema with it.
      assert.ok(
        documented.includes(reply.status === 206 ? '200' : String(reply.status)) ||
          OTHER_REFUSALS.statuses.includes(reply.status),
        `${reply.status} is not documented: ${reply.body}`,
      );
      assert.ok(reply.headers.get('x-request-id'));
      assert.ok(method !== 'HEAD' || reply.body === '', 'HEAD has a body');
      if (reply.status === 200) {
        const type = reply.headers.get('content-type')?.split(';')[0] ?? '';
        const { content = {} } = operations[0]?.get.responses['200'] ?? {};
        assert.ok(type in content, `${type} is not documented`);
        assert.match(reply.headers.get('etag') ?? '', /^"[\w-]+"$/);
        assert.match(reply.headers.get('vary') ?? '', /apikey, Authorization, Accept, Accept-Encoding/);
        if (method !== 'HEAD') {
          assert.equal(Number(reply.headers.get('content-length')), reply.body.length);
          if (path !== undefined) checkBody(path, reply, type);
        }
      } else if (reply.status === 206) {
        const [, from, last] =
          /^bytes (\d+)-(\d+)\/\d+$/.exec(reply.headers.get('content-range') ?? '') ?? [];
        assert.equal(reply.body.length, Number(last) - Number(from) + 1);
        assert.match(reply.headers.get('etag') ?? '', /^"[\w-]+"$/);
      } else if (reply.status === 304) {
        assert.equal(reply.body, '');
        assert.match(reply.headers.get('etag') ?? '', /^"[\w-]+"$/);
      } else {
        checkRefusal(reply, method);
        if (method !== 'HEAD') {
          assertConforms(['components', 'schemas', 'Problem'], JSON.parse(textOf(reply)));
        }
      }
    },
  };
}

/**
 * Whether a text is a 64-bit integer, judged by its digits: as a `number`, 2^63 is no larger than
 * 2^63 - 1.
 */
export function isIdentifier(text: string): boolean {
  return /^-?\d{1,40}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

/**
 * Throws unless a refusal is a problem document that matches its response, for any request
 * (decision 13).
 */
export function checkRefusal(reply: RawReply, method: string): void {
  const { status, headers } = reply;
  assert.ok(status < 500 || status === 501, `${status}: ${reply.body}`);
  assert.equal(headers.get('content-type'), 'application/problem+json');
  if (status === 401) assert.ok(headers.get('www-authenticate'));
  if (status === 405) assert.equal(headers.get('allow'), 'GET, HEAD, OPTIONS');
  if (method === 'HEAD') return;
  const problem: Readonly<Record<string, unknown>> = JSON.parse(textOf(reply));
  assert.equal(problem['status'], status);
  assert.equal(problem['type'], `/problems/${problem['code']}`);
  assert.equal(problem['request_id'], headers.get('x-request-id'));
}

/** The body as text, decompressed as a client would do it. */
function textOf(reply: RawReply): string {
  const bytes = Buffer.from(reply.body, 'latin1');
  const encoding = reply.headers.get('content-encoding');
  const plain =
    encoding === 'gzip' ? gunzipSync(bytes) : encoding === 'zstd' ? zstdDecompressSync(bytes) : bytes;
  return new TextDecoder('utf-8', { fatal: true }).decode(plain);
}
