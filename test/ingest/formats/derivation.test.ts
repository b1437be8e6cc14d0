/**
 * Values that an import derives from texts that identify people: without the secret of the
 * organization, the texts cannot be recovered.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it, type TestContext } from 'node:test';
import { caliper } from '../../../src/ingest/formats/caliper.ts';
import type { Format } from '../../../src/ingest/formats/format.ts';
import { xapi } from '../../../src/ingest/formats/xapi.ts';
import { importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { forgetUsers } from '../../../src/store/forgotten.ts';
import type { Store } from '../../../src/store/store.ts';
import { everybodyOf, type Person } from '../../dataset/record-columns.ts';
import { DIRECT, EMBEDDED, openStorage, type StorageKind } from '../../storage.ts';
import { makeFolder } from '../temporary-folder.ts';

const ADDRESS = 'ada.lovelace@uni.example';
const AGENTS = [
  { mbox: `mailto:${ADDRESS}` },
  { account: { homePage: 'https://ada.lovelace.example', name: 'ada.lovelace' } },
  { openid: 'https://ada.lovelace.example/id' },
  { mbox_sha1sum: hash('sha1', 'mailto:grace.hopper@uni.example') },
];
const STATEMENTS = AGENTS.map((actor, place) => ({
  ...{ id: `${place}`, actor, verb: { id: 'http://x.example/verbs/viewed' } },
  object: { id: 'http://x.example/page' },
  context: { contextActivities: { parent: [{ id: 'http://x.example/course' }] } },
  timestamp: '2026-01-05T08:00:00Z',
}));
const ENVELOPE = {
  ...{ '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p2', id: 'urn:uuid:1', type: 'ViewEvent' },
  ...{ actor: { id: `mailto:${ADDRESS}`, type: 'Person' }, action: 'Viewed' },
  group: { id: 'http://x.example/course', type: 'CourseSection' },
  object: { id: 'http://x.example/page', type: 'WebPage' },
  eventTime: '2026-01-05T08:00:00Z',
};
const PLAIN_ID = numberOf(hash('sha1', `mailto:${ADDRESS}`));
/** The ids that an attacker with a list of addresses would look for. */
const GUESSED: readonly bigint[] = [numberOf(`mailto:${ADDRESS}`), PLAIN_ID];

function numberOf(text: string): bigint {
  return BigInt.asUintN(53, hash('sha256', text, 'buffer').readBigUInt64BE());
}

async function openEmpty(t: TestContext, kind: StorageKind = EMBEDDED): Promise<Store> {
  const { store, close } = await openStorage(kind, await makeFolder(t));
  t.after(close);
  return store;
}

async function load(t: TestContext, store: Store, organization: string, format: Format, records: unknown) {
  const folder = await makeFolder(t, { 'records.json': JSON.stringify(records) });
  const foreign = { format, options: {} };
  const report = await importBundle({ store, organization, paths: [folder], foreign });
  assert.deepEqual(report.problems, []);
  return report;
}

/** All users but the owner of pins without an owner. */
async function peopleOf(store: Store, organization: string): Promise<readonly Person[]> {
  const dataset = await store.openDataset(organization);
  assert.ok(dataset);
  try {
    return (await everybodyOf(dataset.records('users'))).filter(({ id }) => id !== 0n);
  } finally {
    await dataset.close();
  }
}

it('users without a name or an address get derived ones that do not identify them', async (t) => {
  const store = await openEmpty(t);
  await load(t, store, 'school', xapi, STATEMENTS);
  await load(t, store, 'other', caliper, [ENVELOPE]);
  const people = [...(await peopleOf(store, 'school')), ...(await peopleOf(store, 'other'))];
  assert.equal(people.length, AGENTS.length + 1);
  for (const { id, email, name } of people) {
    assert.match(name, /^Person [0-9A-V]{8}$/);
    assert.ok(email === ADDRESS || /^user-\d+@(?:account|openid|sha1|caliper)\.invalid$/.test(email), email);
    assert.ok(id >= 0n && id < 2n ** 53n && !GUESSED.includes(id));
  }
  assert.equal(new Set(people.map(({ name }) => name)).size, people.length);
});

// The secret that makes ids differ between organizations is in the catalog.
for (const kind of DIRECT) {
  it(`the same source gives two organizations different people, and one the same, ${kind.store}`, async (t) => {
    const store = await openEmpty(t, kind);
    for (const organization of ['one', 'two']) await load(t, store, organization, xapi, STATEMENTS);
    const again = await load(t, store, 'one', xapi, STATEMENTS);
    assert.equal(again.outcome, 'unchanged');
    const ids = [...(await peopleOf(store, 'one')), ...(await peopleOf(store, 'two'))].map(({ id }) => id);
    assert.equal(new Set(ids).size, 2 * AGENTS.length);
  });
}

it('a forgotten user does not come back with the next import', async (t) => {
  const store = await openEmpty(t);
  await load(t, store, 'school', xapi, STATEMENTS);
  const person = (await peopleOf(store, 'school')).find(({ email }) => email === ADDRESS);
  await forgetUsers(store, 'school', [person?.id ?? 0n], { waitMs: 0 });
  const again = await load(t, store, 'school', xapi, STATEMENTS);
  assert.equal(again.outcome, 'unchanged');
  assert.ok(!(await peopleOf(store, 'school')).some(({ email }) => email === ADDRESS));
});

it('an organization with data from before keyed ids keeps its derivation, one without has keyed ids', async (t) => {
  const data = join(await makeFolder(t), 'data');
  const before = await openFolderStore(data);
  await before.createOrganization('empty', {});
  const folder = await makeFolder(t, { 'users.csv': 'id,email,name\n1,one@x.example,One\n' });
  await importBundle({ store: before, organization: 'school', paths: [folder] });
  await before.close();
  const catalog = new DatabaseSync(join(data, 'catalog.db'));
  // Catalogs of that time had neither checksums nor rules.
  catalog.exec(`
    PRAGMA application_id = 0;
    DROP TRIGGER organizations_inserted;
    DROP TRIGGER organizations_updated;
    ALTER TABLE organizations DROP COLUMN seal;
    ALTER TABLE organizations DROP COLUMN rules;
    ALTER TABLE organizations DROP COLUMN derived_ids;`);
  catalog.close();
  const store = await openFolderStore(data);
  t.after(() => store.close());
  const derivedIds = (await store.organizations()).map((entry) => [entry.name, entry.derivedIds]);
  assert.deepEqual(derivedIds, [
    ['empty', 'keyed'],
    ['school', 'plain'],
  ]);
  await load(t, store, 'school', xapi, STATEMENTS);
  const people = await peopleOf(store, 'school');
  const seen = people.slice(1).map(({ id, email, name }) => `${id} ${email} ${name}`);
  const [login, openid, digest] = [
    'ada.lovelace',
    'https://ada.lovelace.example/id',
    AGENTS[3]?.mbox_sha1sum,
  ];
  const loginId = numberOf(`https://ada.lovelace.example ${login}`);
  assert.deepEqual(seen, [
    `${PLAIN_ID} ${ADDRESS} ${ADDRESS}`,
    `${loginId} ${loginId}@ada.lovelace.example.invalid ${login}`,
    `${numberOf(openid ?? '')} ${numberOf(openid ?? '')}@openid.invalid ${openid}`,
    `${numberOf(digest ?? '')} ${numberOf(digest ?? '')}@sha1.invalid ${digest}`,
  ]);
});
