/**
 * Requests for every operation of a document: those that it allows, and those that must be refused,
 * with the expected status.
 */
import type { Operation, Target } from './product.ts';

export interface Request {
  readonly name: string;
  /** Relative to the base URL, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
}

const ALLOWED_VALUES: Readonly<Record<string, readonly string[]>> = {
  start: ['1514764800000', '1514764800', '0', '2018-03-12T17:00:45.567Z', '2018-03-12T17:00:45+01:00'],
  end: ['1546300800000', '2019-01-01T00:00:00Z', '-1'],
  limit: ['1', '7', '10000'],
  format: ['json', 'ndjson', 'csv'],
  key: ['board'],
};

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
};

const FORBIDDEN_VALUES: Readonly<Record<string, readonly string[]>> = {
  start: ['', 'yesterday', '2018-02-30T00:00:00Z', '2018-03-12', '1e12', '99999999999999999999'],
  end: ['', 'never', '2018-03-12T25:00:00Z'],
  limit: ['', '0', '-1', '1.5', '10001', 'all'],
  cursor: ['', 'x', '!', 'bm90IGEgcmVhbCBjdXJzb3I'],
  format: ['', 'xml', 'JSON'],
  excel: ['', '0', 'yes'],
  key: ['', 'user'],
};

/**
 * Requests everything at once, then with ranges, pages and representations; follows pages and
 * revalidates responses.
 */
export async function* validRequests(target: Target): AsyncGenerator<Request> {
  for (const [template, { get }] of Object.entries(target.document.paths)) {
    const path = fill(template, target.pathValues);
    const names = queryNames(get);
    const short: Record<string, string> = {
      ...(names.includes('limit') && { limit: '20' }),
      // Since 1970 there are more days than a response may have periods.
      ...(names.includes('interval') && { interval: 'month' }),
    };
    const valid = (
      name: string,
      query: Record<string, string>,
      headers: Record<string, string> = {},
      status = 200,
    ) => ({
      ...{ name: `${get.operationId} ${name}`, path: pathWith(path, query), status },
      headers: { apikey: target.key, ...headers },
    });
    yield valid('as it is', {});
    for (const name of names) {
      for (const value of allowedValues(get, name)) yield valid(`with ${name}`, { ...short, [name]: value });
    }
    if (names.includes('start')) {
      yield valid('with a range', { ...short, start: '1514764800000', end: '1546300800000' });
      yield valid('with an empty range', { start: '1546300800000', end: '1546300800000' });
    }
    if (names.includes('format')) {
      const types = allowedValues(get, 'format').map((format) => MEDIA_TYPES[format]!);
      for (const accept of [...types, '*/*']) yield valid(`as ${accept}`, short, { accept });
    }
    const first = await ask(target, pathWith(path, short));
    const etag = first.get('etag') ?? '';
    yield valid('known already', short, { 'if-none-match': etag, 'accept-encoding': 'gzip, deflate' }, 304);
    const next = /[?&]cursor=([^&>]+)/.exec(first.get('link') ?? '')?.[1];
    if (next !== undefined) yield valid('on the second page', { ...short, cursor: next });
  }
}

/** The headers of a response. */
async function ask({ baseUrl, key }: Target, path: string): Promise<Headers> {
  const response = await fetch(baseUrl + path, {
    headers: { apikey: key, 'accept-encoding': 'gzip, deflate' },
  });
  await response.body?.cancel();
  return response.headers;
}

function pathWith(path: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

/**
 * Requests without a key, with invalid keys, with unknown ids, and with malformed, repeated,
 * unknown and huge parameters.
 */
export function* forbiddenRequests(target: Target): Generator<Request> {
  for (const [template, { get }] of Object.entries(target.document.paths)) {
    const path = fill(template, target.pathValues);
    const refused = (
      status: number,
      name: string,
      query = '',
      headers: Readonly<Record<string, string>> = { apikey: target.key },
      at = path,
    ) => ({ name: `${get.operationId} ${name}`, path: at + query, headers, status });
    yield refused(401, 'without a key', '', {});
    yield refused(401, 'without a key and with a bad parameter', '?limit=0', {});
    yield refused(401, 'with an empty key', '', { apikey: '' });
    yield refused(401, 'with a key that does not exist', '', { apikey: 'cork_no_such_key' });
    yield refused(401, 'with a damaged key', '', { apikey: `${target.key}0` });
    for (const name of queryNames(get)) {
      for (const value of FORBIDDEN_VALUES[name] ?? []) {
        const query = { ...(name === 'cursor' && { limit: '1' }), [name]: value };
        yield refused(400, `with a bad ${name}`, `?${new URLSearchParams(query)}`);
      }
      const [value = 'x'] = ALLOWED_VALUES[name] ?? [];
      yield refused(400, `with ${name} twice`, `?${name}=${value}&${name}=${value}`);
      yield refused(400, `with a huge ${name}`, `?${name}=${'9'.repeat(4_000)}`);
    }
    yield refused(400, 'with an unknown parameter', '?stat=1514764800000');
    yield refused(400, 'with a range that ends before it starts', '?start=1546300800000&end=1514764800000');
    yield refused(406, 'as an image', '', { apikey: target.key, accept: 'image/png' });
    yield refused(414, 'with a URL that is too long', `?start=${'0'.repeat(9_000)}`);
    for (const [name, value, status] of badNames(get)) {
      const at = fill(template, { ...target.pathValues, [name]: value });
      yield refused(status, `of ${name} "${value.slice(0, 20)}"`, '', undefined, at);
    }
  }
}

function* badNames(operation: Operation): Generator<[name: string, value: string, status: number]> {
  for (const { name } of operation.parameters.filter((parameter) => parameter.in === 'path')) {
    if (/^(board|user)/.test(name)) {
      for (const id of ['404404404', '-1', '9223372036854775807']) yield [name, id, 404];
      for (const id of ['abc', '1.5', '9223372036854775808', '1e3', '+1']) yield [name, id, 400];
    } else {
      for (const text of ['none', 'a b', 'ä%', '7'.repeat(500)]) yield [name, text, 404];
    }
  }
}

/** Not every route has every format. */
function allowedValues({ parameters }: Operation, name: string): readonly string[] {
  const listed = parameters.find((parameter) => parameter.name === name)?.schema.enum;
  return (ALLOWED_VALUES[name] ?? []).filter((value) => listed === undefined || listed.includes(value));
}

function queryNames(operation: Operation): readonly string[] {
  return operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined || value === '') throw new Error(`There is no value for ${name} of ${template}.`);
    return encodeURIComponent(value);
  });
}
