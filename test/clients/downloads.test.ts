/**
 * Programs that download in ranges and continue after cuts (RFC 9110, sections 13 and 14): aria2,
 * wget and curl decide themselves which ranges they request and whether they fit together.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { type Ended, lacking, runBlock, runs } from '../recipes/blocks.ts';
import { largeRecords, openStand, type Stand, until } from '../server/stand.ts';
import { type CuttingProxy, openCuttingProxy } from './cutting-proxy.ts';

const MEGABYTES = 12;
/** Connections of aria2, which divides a file into parts of at least 1 MiB. */
const PARTS = 8;
const CUTS = 5;
const EVENTS = '/a/v1/events';

type Form = Readonly<Record<string, string>>;
const JSON_FORM: Form = { accept: 'application/json', 'accept-encoding': 'identity' };
/** A compressed response has ranges when it has been made once, and Parquet is made as a whole. */
const FORMS: readonly Form[] = [
  JSON_FORM,
  { accept: 'text/csv', 'accept-encoding': 'identity' },
  { accept: 'application/vnd.apache.parquet', 'accept-encoding': 'identity' },
  { accept: 'application/json', 'accept-encoding': 'gzip' },
];
const UNCOMPRESSED = FORMS.filter((form) => form['accept-encoding'] === 'identity');

let stand: Stand;
let folder: string;
before(async () => {
  stand = await openStand({ records: largeRecords(MEGABYTES, 2_000), isUnique: true });
  folder = mkdtempSync(join(tmpdir(), 'corkboard-downloads-'));
});
after(async () => {
  await stand.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Whole {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** The bytes as they are sent: unlike `fetch`, this does not decompress. */
async function ask(fields: Form): Promise<Whole> {
  return await new Promise((resolve, reject) => {
    const headers = { apikey: stand.key, ...fields };
    get(stand.url + EVENTS, { headers }, async (response) =>
      resolve({ headers: response.headers, bytes: await buffer(response) }),
    ).once('error', reject);
  });
}

/** Waits until the response has ranges. */
async function wholeOf(form: Form): Promise<Whole> {
  const whole = await ask(form);
  const range = 'bytes=0-9';
  await until(async () => (await ask({ ...form, range })).headers['content-range'] !== undefined);
  return whole;
}

function fieldOptions(fields: Form): readonly string[] {
  return Object.entries({ ...fields, apikey: stand.key }).flatMap(([name, value]) => [
    '--header',
    `${name}: ${value}`,
  ]);
}

/** Uses a proxy that cuts the response a few times, each after less than it has in all. */
async function throughCuts(
  { bytes }: Whole,
  use: (proxy: CuttingProxy) => Promise<unknown>,
  beforeCut?: () => Promise<unknown>,
): Promise<CuttingProxy> {
  // Half of a part of aria2, so that connections for a part do not end before they are cut.
  const cut = { bytes: Math.floor(bytes.length / (2 * PARTS)), cuts: CUTS, ...(beforeCut && { beforeCut }) };
  const proxy = await openCuttingProxy(stand.port, cut);
  try {
    await use(proxy);
  } finally {
    await proxy.close();
  }
  assert.equal(proxy.cuts, CUTS);
  return proxy;
}

function rangesOf({ asked }: CuttingProxy): readonly string[] {
  return asked.flatMap((fields) => fields.get('range') ?? []);
}

/** Publishes something that changes the events and their length, and waits until it is served. */
async function publish(): Promise<void> {
  const etag = async () => (await ask({ ...JSON_FORM, range: 'bytes=0-0' })).headers.etag;
  const before = await etag();
  published += 1;
  await stand.publish({ users: [{ id: 1n, email: 'ada@x.example', name: 'Renamed '.repeat(published) }] });
  await until(async () => (await etag()) !== before);
}
let published = 0;

async function download(program: string, ...words: readonly string[]): Promise<Ended> {
  return await runBlock([program, ...words], folder, {});
}

function succeeded({ code, stdout, stderr }: Ended): void {
  assert.equal(code, 0, stdout + stderr);
}

const nameOf = (form: Form) => `${form['accept']}, ${form['accept-encoding']}`;
const fileOf = (program: string, form: Form) => `${program} ${nameOf(form).replaceAll('/', ' ')}`;

describe('aria2', { skip: lacking(['aria2', () => runs('aria2c', '--version')]) }, () => {
  const aria2 = (url: string, file: string, form: Form, ...words: readonly string[]) =>
    download(
      'aria2c',
      ...['--no-conf', '--max-tries=30', '--retry-wait=0', '--summary-interval=0', `--out=${file}`],
      ...[`--split=${PARTS}`, `--max-connection-per-server=${PARTS}`, '--min-split-size=1M'],
      ...[...words, ...fieldOptions(form), url + EVENTS],
    );

  for (const form of UNCOMPRESSED) {
    it(`joins ranges that it requests at once, some of which are cut: ${nameOf(form)}`, async () => {
      const whole = await wholeOf(form);
      const file = fileOf('aria2', form);
      const proxy = await throughCuts(whole, async ({ url }) =>
        succeeded(await aria2(url, file, form, `--checksum=sha-256=${hash('sha256', whole.bytes)}`)),
      );
      assert.ok(readFileSync(join(folder, file)).equals(whole.bytes));
      const ranges = rangesOf(proxy);
      assert.equal(new Set(ranges).size, ranges.length, 'no range is requested again from its beginning');
      if (form !== JSON_FORM) return;
      // One that was cut may not have closed when the next one opens.
      assert.ok(proxy.mostOpen >= PARTS, `${proxy.mostOpen} connections`);
      assert.ok(ranges.length >= PARTS + CUTS - 2, ranges.join(' '));
    });
  }

  it('does not complete a file of two versions', async () => {
    const file = 'aria2 two versions';
    const old = await wholeOf(JSON_FORM);
    let once: Promise<void> | undefined;
    const change = () => (once ??= publish());
    const use = async ({ url }: CuttingProxy) => {
      const { code, stdout } = await aria2(url, file, JSON_FORM, '--max-tries=3');
      assert.notEqual(code, 0, stdout);
    };
    await throughCuts(old, use, change);
    assert.ok(existsSync(join(folder, `${file}.aria2`)), 'it knows that the file is incomplete');
  });
});

describe('wget', { skip: lacking(['wget', () => runs('wget', '--version')]) }, () => {
  // Compressed responses have no `Content-Length`, without which wget does not notice a cut.
  for (const form of UNCOMPRESSED) {
    it(`continues after each cut: ${nameOf(form)}`, async () => {
      const whole = await wholeOf(form);
      const file = fileOf('wget', form);
      const proxy = await throughCuts(whole, async ({ url }) =>
        succeeded(
          await download(
            'wget',
            ...['--no-config', '--no-hsts', '--continue', '--waitretry=0', `--output-document=${file}`],
            ...[...fieldOptions(form), url + EVENTS],
          ),
        ),
      );
      assert.ok(readFileSync(join(folder, file)).equals(whole.bytes));
      assert.equal(rangesOf(proxy).length, CUTS);
    });
  }
});

describe('curl', { skip: lacking(['curl', () => runs('curl', '--version')]) }, () => {
  const curl = (url: string, file: string, fields: Form) =>
    download(
      'curl',
      ...['--disable', '--silent', '--show-error', '--fail', '--continue-at', '-', '--output', file],
      ...[...fieldOptions(fields), url + EVENTS],
    );
  /** Exit codes of curl: fewer bytes than `Content-Length`; a reset connection. */
  const CUT_SHORT: readonly (number | null)[] = [18, 56];

  for (const form of FORMS) {
    it(`continues after each cut: ${nameOf(form)}`, async () => {
      const whole = await wholeOf(form);
      const file = fileOf('curl', form);
      const fields = { ...form, 'if-range': String(whole.headers.etag) };
      const proxy = await throughCuts(whole, async ({ url }) => {
        for (let round = 0; round < CUTS; round += 1) {
          const { code, stderr } = await curl(url, file, fields);
          assert.ok(CUT_SHORT.includes(code), `${code}: ${stderr}`);
        }
        succeeded(await curl(url, file, fields));
      });
      assert.ok(readFileSync(join(folder, file)).equals(whole.bytes));
      assert.equal(rangesOf(proxy).length, CUTS);
    });
  }

  for (const [field, exitCode] of [
    // It gets the whole response and does not add it to the part that it has.
    ['if-range', 33],
    // It gets status 412.
    ['if-match', 22],
  ] as const) {
    it(`keeps its part if the data has changed since, with ${field}`, async () => {
      const old = await wholeOf(JSON_FORM);
      const file = `curl ${field}`;
      const fields = { ...JSON_FORM, [field]: String(old.headers.etag) };
      await throughCuts(old, async ({ url }) => {
        for (let round = 0; round < CUTS; round += 1) await curl(url, file, fields);
      });
      const part = readFileSync(join(folder, file));
      await publish();
      const { code, stderr } = await curl(stand.url, file, fields);
      assert.equal(code, exitCode, stderr);
      assert.ok(readFileSync(join(folder, file)).equals(part));
      assert.ok(part.length > 0 && old.bytes.subarray(0, part.length).equals(part));
    });
  }

  it('finds out with its entity tag whether anything has changed', async () => {
    const tag = join(folder, 'tag');
    const words = [
      '--disable',
      '--silent',
      '--fail',
      ...fieldOptions(JSON_FORM),
      '--write-out',
      '%{http_code}',
    ];
    const save = ['--etag-save', tag, '--output', join(folder, 'saved')];
    const compare = ['--etag-compare', tag, '--output', join(folder, 'compared')];
    const statuses = [];
    for (const options of [save, compare, 'publish', compare] as const) {
      if (options === 'publish') await publish();
      else statuses.push((await download('curl', ...words, ...options, stand.url + EVENTS)).stdout);
    }
    assert.deepEqual(statuses, ['200', '304', '200']);
  });
});
