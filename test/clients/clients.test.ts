/**
 * Common HTTP clients with their default headers, against a real server: every route must give
 * each of them the same response as to a plain request.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { REPRESENTATIONS, type Representation } from '../../src/render/text/representations.ts';
import { publishRecords, WORLD } from '../dataset/small-world.ts';
import { lacking, PYTHONS, runs } from '../recipes/blocks.ts';
import { PUBLISHED_PATHS, type PublishedPath } from '../server/published-paths.ts';
import { head, ORGANIZATION, openStand, type Stand, sendRaw } from '../server/stand.ts';

interface Request {
  readonly method: 'GET' | 'HEAD';
  readonly path: string;
  /** Absent: the default of the client. */
  readonly accept?: string;
  readonly body?: string;
}

/** Status, content type and, for GET, the digest of the body. */
type Appearance = readonly [status: string, type: string, digest: string];

interface Case {
  readonly request: Request;
  readonly expected: Appearance;
}

let stand: Stand;
const cases: Case[] = [];
let folder: string;

before(async () => {
  stand = await openStand({ records: undefined });
  await publishRecords(stand.store, ORGANIZATION, WORLD, { courseLookup: true });
  for (const published of PUBLISHED_PATHS) cases.push(...(await casesOf(published)));
  folder = mkdtempSync(join(tmpdir(), 'corkboard-clients-'));
});
after(async () => {
  await stand.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Requests for one route: defaults of the client, representations, a body, doubled slashes. */
async function casesOf({ base, path, route }: PublishedPath): Promise<readonly Case[]> {
  const spelt = `${base}/${path.slice(base.length)}/`;
  const [first] = route.representations;
  assert.ok(first);
  const plain = (request: Request) => caseOf(request, path, first);
  const forms = route.representations.map((representation) => {
    // A live stream does not end.
    const method = representation === 'event-stream' ? 'HEAD' : 'GET';
    const accept = `${REPRESENTATIONS[representation].mediaType}; charset=utf-8`;
    return caseOf({ method, path, accept }, path, representation);
  });
  return await Promise.all([
    ...forms,
    plain({ method: 'GET', path }),
    plain({ method: 'HEAD', path }),
    plain({ method: 'GET', path, accept: `${REPRESENTATIONS[first].mediaType};odata=verbose` }),
    plain({ method: 'GET', path, body: '{}' }),
    plain({ method: 'GET', path: spelt }),
  ]);
}

async function caseOf(request: Request, path: string, representation: Representation): Promise<Case> {
  const { method } = request;
  const fields = { apikey: stand.key, accept: REPRESENTATIONS[representation].mediaType };
  const { status, headers, body } = await sendRaw(stand.port, head(method, path, fields));
  assert.equal(status, 200, `${path}: ${body}`);
  const expected = appearance(
    method,
    status,
    headers.get('content-type'),
    digestOf(Buffer.from(body, 'latin1')),
  );
  return { request, expected };
}

function appearance(method: string, status: unknown, type: unknown, digest: string): Appearance {
  return [`${status}`, `${type}`, method === 'HEAD' ? '' : digest];
}

function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes);
}

async function sendWithFetch({ method, path, accept }: Request): Promise<Appearance> {
  const headers = { apikey: stand.key, ...(accept !== undefined && { accept }) };
  const response = await fetch(stand.url + path, { method, headers });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return appearance(method, response.status, response.headers.get('content-type'), digestOf(bytes));
}

/** Runs a client of this folder, which reads requests and writes responses, one per line. */
async function runClient(program: string, ...words: readonly string[]): Promise<readonly Appearance[]> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, CORKBOARD_KEY: stand.key, GOPROXY: 'off' };
  const child = spawn(program, words, { cwd: import.meta.dirname, env });
  const ended = once(child, 'close');
  const lines = cases.map(({ request: { method, path, accept = '-', body = '-' } }) =>
    [method, stand.url + path, accept, body].join('\t'),
  );
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${lines.join('\n')}\n`);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  assert.equal(child.exitCode, 0, errors);
  return output
    .trimEnd()
    .split('\n')
    .map((line, at) => {
      const [status, type, digest = ''] = line.split('\t');
      return appearance(cases[at]?.request.method ?? '', status, type, digest);
    });
}

function assertAsExpected(appearances: readonly Appearance[]): void {
  assert.equal(appearances.length, cases.length);
  for (const [at, { request, expected }] of cases.entries()) {
    assert.deepEqual(appearances[at], expected, JSON.stringify(request));
  }
}

const python = (library: string) => PYTHONS.find((program) => runs(program, '-c', `import ${library}`));

describe('every route gives the same response as to a plain request', () => {
  it('to fetch', async () => {
    // `fetch` refuses to send a body with GET.
    const sendable = cases.filter(({ request }) => request.body === undefined);
    for (const { request, expected } of sendable) {
      assert.deepEqual(await sendWithFetch(request), expected, JSON.stringify(request));
    }
  });

  it('to curl', { skip: lacking(['curl', () => runs('curl', '--version')]) }, async () => {
    assertAsExpected(await runClient('sh', 'curl.sh'));
  });

  for (const library of ['requests', 'httpx']) {
    const program = python(library);
    const skip = lacking([`${library} for Python`, () => program !== undefined]);
    it(`to ${library} for Python`, { skip }, async () => {
      assertAsExpected(await runClient(program ?? '', 'python.py', library));
    });
  }

  it('to java.net.http', { skip: lacking(['Java', () => runs('java', '--version')]) }, async () => {
    assertAsExpected(await runClient('java', 'Requests.java'));
  });

  it('to net/http of Go', { skip: lacking(['Go', () => runs('go', 'version')]) }, async () => {
    assertAsExpected(await runClient('go', 'run', 'requests.go'));
  });
});
