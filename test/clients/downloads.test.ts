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
import { blocksOf, type Ended, lacking, runBlock, runs } from '../recipes/blocks.ts';
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

/** Gives the actor of all events a new name, and waits until it is served. */
async function rename(name: string): Promise<void> {
  const etag = async () => (await ask({ ...JSON_FORM, range: 'bytes=0-0' })).headers.etag;
  const before = await etag();
  await stand.publish({ users: [{ id: 1n, email: 'ada@x.example', name }] });
  await until(async () => (await etag()) !== before);
}

/** Publishes something that changes the events and their length, and waits until it is served. */
async function publish(): Promise<void> {
  published += 1;
  await rename('Renamed '.repeat(published));
}
let published = 0;

/** After `publish`: changes the events, but not their length. */
async function publishSameLength(): Promise<void> {
  await rename('Changed '.repeat(published));
}

/**
 * Downloads a part of the events, publishes, and has the program continue. Asserts that the first
 * attempt fails.
 */
async function continueAfterPublication(use: (url: string) => Promise<Ended>) {
  const old = await ask(JSON_FORM);
  const proxy = await openCuttingProxy(stand.port, { bytes: Math.floor(old.bytes.length / 3), cuts: 1 });
  try {
    assert.notEqual((await use(proxy.url)).code, 0);
  } finally {
    await proxy.close();
  }
  await publish();
  return { old, ended: await use(stand.url), fresh: await ask(JSON_FORM) };
}

/** Asserts that a file has the beginning of one version and the end of another one. */
function assertMixed(file: string, old: Whole, fresh: Whole): void {
  const bytes = readFileSync(join(folder, file));
  assert.equal(bytes.length, fresh.bytes.length);
  assert.ok(!bytes.equals(old.bytes) && !bytes.equals(fresh.bytes), 'it is neither version');
  const size = 10_000;
  assert.ok(bytes.subarray(0, size).equals(old.bytes.subarray(0, size)));
  assert.ok(bytes.subarray(-size).equals(fresh.bytes.subarray(-size)));
}

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

  it('mixes two versions of the same length and reports success', async () => {
    const file = 'aria2 same length';
    await publish();
    const old = await wholeOf(JSON_FORM);
    let once: Promise<void> | undefined;
    const change = () => (once ??= publishSameLength());
    await throughCuts(old, async ({ url }) => succeeded(await aria2(url, file, JSON_FORM)), change);
    const fresh = await ask(JSON_FORM);
    const bytes = readFileSync(join(folder, file));
    assert.equal(bytes.length, old.bytes.length);
    assert.ok(!bytes.equals(old.bytes) && !bytes.equals(fresh.bytes), 'it is neither version');
  });

  it('mixes no versions with If-Match', async () => {
    const file = 'aria2 if-match';
    await publish();
    const old = await wholeOf(JSON_FORM);
    const fields = { ...JSON_FORM, 'if-match': String(old.headers.etag) };
    let once: Promise<void> | undefined;
    const change = () => (once ??= publishSameLength());
    const use = async ({ url }: CuttingProxy) => {
      const { code, stdout } = await aria2(url, file, fields);
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

  const wget = (url: string, file: string, fields: Form) =>
    download(
      'wget',
      ...['--no-config', '--no-hsts', '--continue', '--tries=1', `--output-document=${file}`],
      ...[...fieldOptions(fields), url + EVENTS],
    );

  for (const sends of ['nothing', 'if-range'] as const) {
    it(`mixes two versions and reports success if it sends ${sends}`, async () => {
      const file = `wget sends ${sends}`;
      const { etag } = (await ask(JSON_FORM)).headers;
      const fields = sends === 'nothing' ? JSON_FORM : { ...JSON_FORM, [sends]: String(etag) };
      const { old, ended, fresh } = await continueAfterPublication((url) => wget(url, file, fields));
      succeeded(ended);
      assertMixed(file, old, fresh);
    });
  }

  it('keeps its part if the data has changed since, with If-Match', async () => {
    const { etag } = (await ask(JSON_FORM)).headers;
    const fields = { ...JSON_FORM, 'if-match': String(etag) };
    const use = (url: string) => wget(url, 'wget if-match', fields);
    const { old, ended } = await continueAfterPublication(use);
    // The server refused.
    assert.equal(ended.code, 8, ended.stderr);
    const part = readFileSync(join(folder, 'wget if-match'));
    assert.ok(part.length > 0 && old.bytes.subarray(0, part.length).equals(part));
  });
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

  it('mixes two versions and reports success with --continue-at alone', async () => {
    const file = 'curl alone';
    const { old, ended, fresh } = await continueAfterPublication((url) => curl(url, file, JSON_FORM));
    succeeded(ended);
    assertMixed(file, old, fresh);
  });

  it('has the new version at the end of the recipe if the data changes between two parts', async () => {
    const name = 'Continue an interrupted download 1';
    const recipe = blocksOf('recipes.md').find((block) => block.name === name);
    assert.ok(recipe !== undefined);
    const old = await ask(JSON_FORM);
    const cut = { bytes: Math.floor(old.bytes.length / 3), cuts: 1, beforeCut: publish };
    const proxy = await openCuttingProxy(stand.port, cut);
    const variables = { CORKBOARD_URL: `${proxy.url}/a`, CORKBOARD_KEY: stand.key };
    try {
      succeeded(await runBlock(['sh', '-c', recipe.code], folder, variables));
    } finally {
      await proxy.close();
    }
    const fresh = await ask({ accept: 'application/x-ndjson', 'accept-encoding': 'identity' });
    assert.ok(readFileSync(join(folder, 'events.ndjson')).equals(fresh.bytes));
    // The first part, the attempt to continue, and everything.
    assert.deepEqual(
      proxy.asked.map((fields) => [fields.has('range'), fields.has('if-range')]),
      [
        [false, false],
        [true, true],
        [false, false],
      ],
    );
  });

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
