/**
 * Flipped bits in `catalog.db` and `keys.db`, as clients and operators see them: the server starts,
 * and each response is either the right one or 503.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { startServer } from '../../src/server/start.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { run, temporaryFolder } from '../cli/command.ts';
import { publishRecords, WORLD } from '../dataset/small-world.ts';
import { seed, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';

const FILES = ['catalog.db', 'keys.db'] as const;
/** Flips of each file in the headers of its pages and in its rows; all of them in a long run. */
const FLIPS = 30;
/** Further flips in a long run. */
const RANDOM_FLIPS = 200;
const PAGE_BYTES = 4096;
const FILE_HEADER_BYTES = 100;
/** The header of a page, and its first pointers to rows. */
const PAGE_HEADER_BYTES = 24;
/** Bytes from one that is changed in rows to the next. */
const ROW_STEP = 97;
const PATH = '/a/v1/users';
/** They take several pages. */
const KEYS = 24;
/** The body, or the code of a problem. */
type Served = readonly [status: number, content: string];
const UNREADABLE: Served = [503, 'data-unreadable'];

const data = join(temporaryFolder(), 'data');
const intact = new Map<string, Buffer>();
/** Some in force, a revoked one, and two that do not exist. */
const sent: string[] = [];
let expected: readonly Served[];

before(async () => {
  const store = await openFolderStore(data);
  const keyring = openSqliteKeyring(data);
  const club = { users: [{ id: 2n, email: 'club@x.example', name: 'Club' }] };
  for (const [organization, records] of [['school', WORLD] as const, ['club', club] as const]) {
    await store.createOrganization(organization, { title: `Title of ${organization}` });
    await publishRecords(store, organization, records);
  }
  for (let count = 0; count < KEYS; count += 1) {
    const { key, entry } = await keyring.create(
      {
        organization: count % 2 === 0 ? 'school' : 'club',
        label: `key ${count}`,
        scope: count % 4 === 0 ? FULL_SCOPE : { boards: [7n], users: 'of-boards' },
        redact: { email: count % 3 === 0, name: false, id: false },
      },
      undefined,
    );
    if (count === 5) await keyring.revoke(entry.id);
    if (count % 5 === 0) sent.push(key);
  }
  const [known = ''] = sent;
  sent.push(known.replace(/.{6}$/, 'AAAAAA'), known.replace(/_[^_]+_/, '_aaaaaaaaaaaa_'));
  await keyring.close();
  await store.close();
  for (const name of FILES) intact.set(name, readFileSync(join(data, name)));
  const { responses, problems, impaired, ready } = await serve();
  assert.deepEqual(
    responses.map(([status]) => status),
    [200, 401, 200, 200, 200, 401, 401],
  );
  assert.deepEqual([problems, impaired, ready], [[], false, [200, 'ready']]);
  expected = responses;
});

/** Starts a server, sends each key once, and stops it. */
async function serve() {
  const log: string[] = [];
  const store = await openFolderStore(data);
  const keyring = openSqliteKeyring(data);
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    defaultVariant: 'a',
    store,
    keyring,
    logStream: { write: (line) => void log.push(line) },
  });
  try {
    const responses: Served[] = [];
    for (const apikey of sent) {
      const response = await fetch(server.address + PATH, { headers: { apikey } });
      const body = await response.text();
      responses.push([response.status, response.status === 200 ? body : JSON.parse(body).code]);
    }
    const readyz = await fetch(`${server.address}/readyz`);
    const { status } = (await readyz.json()) as { readonly status: string };
    const metrics = await (await fetch(`${server.address}/metrics`)).text();
    return {
      responses,
      problems: log.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error'),
      impaired: /^corkboard_impaired_(keys|organizations\{state="unavailable"\}) [1-9]/m.test(metrics),
      ready: [readyz.status, status],
    };
  } finally {
    await server.stop();
    await keyring.close();
    await store.close();
  }
}

function flip(name: string, bit: number): void {
  for (const each of FILES) {
    for (const ending of ['-wal', '-shm']) rmSync(join(data, `${each}${ending}`), { force: true });
    const bytes = Buffer.from(intact.get(each)!);
    const byte = Math.floor(bit / 8);
    if (each === name) bytes[byte] = bytes[byte]! ^ (1 << (bit % 8));
    writeFileSync(join(data, each), bytes);
  }
}

/** Bits of the headers of all pages, and of rows. */
function structureOf(file: Buffer): readonly number[] {
  const bits: number[] = [];
  for (let page = 0; page < file.length; page += PAGE_BYTES) {
    const header = (page === 0 ? FILE_HEADER_BYTES : 0) + PAGE_HEADER_BYTES;
    for (let byte = 0; byte < PAGE_BYTES; byte += byte < header ? 1 : ROW_STEP) {
      if (byte < header || file[page + byte] !== 0) bits.push(8 * (page + byte) + ((byte * 5) % 8));
    }
  }
  return bits;
}

function flipsOf(name: string): readonly number[] {
  const file = intact.get(name)!;
  const bits = structureOf(file);
  if (!IS_LONG)
    return Array.from({ length: FLIPS }, (_, at) => bits[Math.floor((at * bits.length) / FLIPS)]!);
  const anywhere = fc.noBias(fc.integer({ min: 0, max: 8 * file.length - 1 }));
  return [...bits, ...fc.sample(anywhere, { seed, numRuns: RANDOM_FLIPS })];
}

/** Whether the flip changes a response. Fails if it changes one to anything but 503. */
async function isNoticed(name: string, bit: number): Promise<boolean> {
  const place = `bit ${bit % 8} of byte ${Math.floor(bit / 8)}`;
  flip(name, bit);
  const { responses, problems, impaired, ready } = await serve();
  const changed = responses.filter((one, at) => !isDeepStrictEqual(one, expected[at]));
  if (changed.length === 0) return false;
  for (const one of changed) assert.deepEqual(one, UNREADABLE, place);
  // One line for the keys, or one for each organization.
  assert.ok(problems.length === 1 || (name === 'catalog.db' && problems.length === 2), place);
  assert.ok(impaired, place);
  assert.notEqual(ready[1], 'ready', place);
  flip(name, bit);
  const { code, stdout } = await run(['check', '--data', data]);
  assert.equal(code, 1, `${place} is not found: ${stdout}`);
  return true;
}

describe('a flipped bit', () => {
  it('in the row of a key makes that key 503, and the server stays ready', async () => {
    flip('keys.db', 8 * intact.get('keys.db')!.indexOf('key 10'));
    const { responses, problems, impaired, ready } = await serve();
    assert.deepEqual(responses, expected.toSpliced(2, 1, UNREADABLE));
    assert.deepEqual([problems.length, impaired, ready], [1, true, [200, 'degraded']]);
    assert.equal(problems[0].msg, 'keys cannot be read');
    assert.match(problems[0].err.message, /^The key \w+ in keys\.db is damaged\./);
  });

  it('in the row of an organization makes its keys 503, and the server stays ready', async () => {
    flip('catalog.db', 8 * intact.get('catalog.db')!.indexOf('Title of club'));
    const { responses, problems, impaired, ready } = await serve();
    const isOfClub = [false, false, false, true, false, false, false];
    assert.deepEqual(
      responses,
      expected.map((one, at) => (isOfClub[at] ? UNREADABLE : one)),
    );
    assert.deepEqual([problems.length, impaired, ready], [1, true, [200, 'degraded']]);
    assert.match(problems[0].err.message, /^The entry of club in catalog\.db is damaged\./);
  });

  it('in the header of keys.db makes all keys 503, and the server starts but is not ready', async () => {
    flip('keys.db', 0);
    const { responses, problems, impaired, ready } = await serve();
    assert.ok(responses.every((one) => isDeepStrictEqual(one, UNREADABLE)));
    assert.deepEqual([problems.length, impaired, ready], [1, true, [503, 'degraded']]);
    assert.match(problems[0].err.message, /^keys\.db is damaged \(file is not a database\)\./);
  });

  for (const name of FILES) {
    it(`in ${name} makes responses 503 or leaves them as they are, and check finds it if there is a 503`, async (t) => {
      tellSeed(t);
      const bits = flipsOf(name);
      let noticed = 0;
      for (const bit of bits) if (await isNoticed(name, bit)) noticed += 1;
      t.diagnostic(`${noticed} of ${bits.length} change a response`);
      assert.ok(noticed > 0);
    });
  }
});
