/**
 * Servers over data folders with flipped bits, and with files of other organizations and versions
 * in the place of their own: whatever is served is right, and the check reports the rest.
 */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { imageOf } from '../../src/dataset/resident/holdings-image.ts';
import { loadDataset } from '../../src/dataset/resident/load.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { startServer } from '../../src/server/start.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import { run, temporaryFolder } from '../cli/command.ts';
import { openPublished, publishRecords, type Records, WORLD } from '../dataset/small-world.ts';
import { seed, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';

const STARTS = IS_LONG ? 300 : 40;
const RESIDENT_LIMIT_BYTES = 1e9;
const NAMES = ['one', 'two'] as const;
type Name = (typeof NAMES)[number];

/** The second version erases a user, so that a file tells the oldest version that may be served. */
const PUBLICATIONS: readonly ((name: Name) => Records)[] = [
  (name) => ({ ...WORLD, users: [...(WORLD.users ?? []), { id: 6n, email: `of-${name}@x.example` }] }),
  () => ({ users: [{ id: 3n, forgotten: true }] }),
  (name) => ({ boards: [{ id: 20n, title: `Third version of ${name}` }] }),
  (name) => ({ users: [{ id: 1n, email: `fourth-of-${name}@x.example`, name: 'Ann' }] }),
];
const OLDEST = 2;
const KEPT = [2, 3, 4] as const;
const ROUTES = ['users', 'boards', 'events', 'lms_user/sis/B-1/points', 'board/7/points'];

const folder = temporaryFolder();
const whole = join(folder, 'whole');
const data = join(folder, 'data');
const keys: Record<string, string> = {};
/** The bodies of each kept version, by organization; the current one is the last. */
const right: Record<string, (readonly string[])[]> = { one: [], two: [] };

const versionsOf = (place: string, name: string) => join(place, 'organizations', name, 'generations');

/** Bodies of the routes; a status for those that were refused. */
async function serve(
  place: string,
  isResident: boolean,
): Promise<{ ready: string; bodies: Map<string, Reply[]> }> {
  const store = await openFolderStore(place);
  const keyring = openSqliteKeyring(place);
  const served = isResident ? withResidentDatasets(store, { limitBytes: RESIDENT_LIMIT_BYTES }) : store;
  const listen = { host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' } as const;
  const server = await startServer({ ...listen, store: served, keyring });
  try {
    const bodies = new Map<string, Reply[]>();
    for (const name of NAMES) {
      const replies: Reply[] = [];
      for (const route of ROUTES) {
        const response = await fetch(`${server.address}/a/v1/${route}`, { headers: { apikey: keys[name]! } });
        replies.push({ status: response.status, body: await response.text() });
      }
      bodies.set(name, replies);
    }
    const ready = await (await fetch(`${server.address}/readyz`)).text();
    return { ready, bodies };
  } finally {
    await server.stop();
    await keyring.close();
    await store.close();
  }
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

before(async () => {
  const store = await openFolderStore(whole);
  const keyring = openSqliteKeyring(whole);
  for (const name of NAMES) {
    await store.createOrganization(name, { lmsUserProperties: ['sis'], title: name });
    const grant = { label: '', scope: FULL_SCOPE, redact: { email: false, name: false, id: false } };
    keys[name] = (await keyring.create({ ...grant, organization: name }, undefined)).key;
  }
  await keyring.close();
  for (const [index, records] of PUBLICATIONS.entries()) {
    for (const name of NAMES) await publishRecords(store, name, records(name));
    if (index + 1 < OLDEST) continue;
    for (const [name, replies] of (await serve(whole, false)).bodies) {
      right[name]!.push(replies.map(({ body }) => body));
      assert.ok(replies.every(({ status }) => status === 200));
    }
  }
  for (const name of NAMES) {
    const stored = await openPublished(store, name);
    const loaded = await loadDataset(stored, () => undefined);
    await stored.image!.write(imageOf(loaded.held));
    await loaded.close();
  }
  await store.close();
  cpSync(whole, data, { recursive: true });
});

interface Slot {
  readonly name: Name;
  readonly publication: (typeof KEPT)[number];
}

type Change =
  | { readonly flip: string; readonly of: Name; readonly at: number }
  | { readonly from: Slot; readonly to: Slot; readonly suffixes: readonly string[] };

const name = fc.constantFrom(...NAMES);
const slot = fc.record({ name, publication: fc.constantFrom(...KEPT) });
const IMAGE = `${KEPT.at(-1)}.image`;
const FILES = KEPT.flatMap((publication) => [`${publication}.duckdb`, `${publication}.manifest`]);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    flip: fc.constantFrom(...FILES, '4.duckdb', '4.manifest', IMAGE, 'oldest'),
    of: name,
    at: fc.noBias(fc.integer({ min: 0, max: 2 ** 30 - 1 })).map((at) => at / 2 ** 30),
  }),
  fc.record({
    from: slot,
    to: slot,
    suffixes: fc.constantFrom(
      ['duckdb'],
      ['manifest'],
      ['duckdb', 'manifest'],
      ['duckdb', 'manifest', 'image'],
    ),
  }),
);

const START = fc.record({
  changes: fc.array(change, { minLength: 1, maxLength: 3 }),
  isResident: fc.boolean(),
  hasImage: fc.boolean(),
});

/** Returns the names of the files that differ afterwards. */
function apply(one: Change): readonly string[] {
  if ('flip' in one) {
    const path = join(versionsOf(data, one.of), one.flip);
    if (!existsSync(path)) return [];
    const bytes = readFileSync(path);
    const byte = Math.floor(one.at * bytes.length);
    bytes[byte] = bytes[byte]! ^ (1 << (Math.floor(one.at * bytes.length * 8) % 8));
    writeFileSync(path, bytes);
    return [one.flip];
  }
  const { from, to, suffixes } = one;
  if (from.name === to.name && from.publication === to.publication) return [];
  return suffixes.flatMap((suffix) => {
    const source = join(versionsOf(whole, from.name), `${from.publication}.${suffix}`);
    // Only the current version has an image.
    if (suffix === 'image' && from.publication !== KEPT.at(-1)) return [];
    copyFileSync(source, join(versionsOf(data, to.name), `${to.publication}.${suffix}`));
    return [`${to.publication}.${suffix}`];
  });
}

/** Undoes all changes, and what servers have written. */
function repair(): void {
  for (const each of NAMES) {
    for (const file of readdirSync(versionsOf(data, each))) {
      if (!FILES.includes(file)) rmSync(join(versionsOf(data, each), file), { recursive: true });
    }
    cpSync(versionsOf(whole, each), versionsOf(data, each), { recursive: true });
  }
}

/** Whether the oldest version that may be served is a different one of the same organization. */
function isLaterAsOldest(one: Change): boolean {
  return 'from' in one && one.to.publication === OLDEST && one.from.name === one.to.name;
}

describe('a server over wrong files', () => {
  it('serves what is right, and the check reports the rest', async (t) => {
    tellSeed(t);
    const counts = { right: 0, earlier: 0, refused: 0 };
    for (const start of fc.sample(START, { seed, numRuns: STARTS })) {
      const { changes, isResident, hasImage } = start;
      const told = JSON.stringify(start);
      for (const each of hasImage ? [] : NAMES) rmSync(join(versionsOf(data, each), IMAGE));
      const changed = changes.flatMap(apply).filter((file) => !file.endsWith('image'));
      const { ready, bodies } = await serve(data, isResident);
      let isAsItWas = true;
      for (const [each, replies] of bodies) {
        for (const [index, { status, body }] of replies.entries()) {
          const versions = right[each]!.map((version) => version[index]);
          if (status === 200 && body === versions.at(-1)) {
            counts.right += 1;
            continue;
          }
          isAsItWas = false;
          if (status === 503) {
            counts.refused += 1;
            assert.match(body, /"code":"data-unreadable"/, told);
          } else {
            counts.earlier += 1;
            assert.equal(status, 200, `${told}: ${body}`);
            assert.ok(versions.includes(body), `${told}: ${body}`);
          }
          assert.match(ready, /"status":"degraded"/, told);
        }
      }
      const { code, stdout } = await run(['check', '--data', data]);
      const isFound = changed.length > 0 && !changes.some(isLaterAsOldest);
      if (!isAsItWas || isFound) assert.equal(code, 1, `${told}: ${stdout}`);
      repair();
    }
    t.diagnostic(JSON.stringify(counts));
    // In a short run, no start may meet an earlier version.
    if (IS_LONG) assert.ok(Object.values(counts).every((count) => count > 0));
  });
});
