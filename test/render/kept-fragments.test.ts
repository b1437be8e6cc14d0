/** Fragments that were kept beside a version give the same responses as those rendered from it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { growDataset, loadDataset } from '../../src/dataset/resident/load.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openRendering, type Rendering } from '../../src/render/rendering.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { temporaryFolder } from '../cli/command.ts';
import { openPublished, publishRecords } from '../dataset/small-world.ts';
import { textOf } from './reference.ts';
import { NO_REDACTION } from './worlds.ts';

const SCHOOL = 'school';
/** Enough records for fragments in one memory. */
const USERS = 1_500;
const EVERYTHING = { scope: FULL_SCOPE, range: {} };

const folder = temporaryFolder();
const KEPT = join(folder, 'organizations', SCHOOL, 'generations/1.image.fragments');
let store: VersionStore;
before(async () => {
  store = await openFolderStore(folder);
  await store.createOrganization(SCHOOL, { title: 'School' });
  await publishRecords(store, SCHOOL, {
    users: Array.from({ length: USERS }, (_, at) => ({
      ...{ id: BigInt(at + 1), email: `u${at}@x.example`, name: `Ü "${at}"` },
    })),
    boards: [7, 8].map((id) => ({ id: BigInt(id), title: `Board ${id}` })),
    pins: [{ id: 70n, boardId: 7n, title: 'Pin', body: 'one two' }],
    events: Array.from({ length: USERS }, (_, at) => event(at + 1, 1_000 + at)),
  });
});

function event(actor: number, timestampMs: number) {
  return {
    ...{ type: 'pin', action: 'visited', ownerId: 1n, actorId: BigInt(actor), boardId: 7n, pinId: 70n },
    timestampMs,
  };
}

/** Loads the current version. Fragments are written at once, not after a minute. */
async function load() {
  const stored = await openPublished(store, SCHOOL);
  const loaded = await loadDataset(stored, () => undefined);
  const recordsRead: string[] = [];
  const dataset = Object.assign(loaded, {
    fragmentImage: stored.fragmentImage,
    records: (of: Parameters<typeof stored.records>[0]) => {
      recordsRead.push(of);
      return stored.records(of);
    },
  });
  return { dataset, recordsRead };
}

async function answersOf(rendering: Rendering): Promise<readonly string[]> {
  return [
    await textOf(await rendering.events(EVERYTHING, 'json')),
    await textOf(await rendering.events({ ...EVERYTHING, limit: 3 }, 'ndjson')),
    await textOf(await rendering.events(EVERYTHING, 'csv')),
  ];
}

it('gives the same responses without rendering any user, board or pin', async () => {
  const first = await load();
  const rendered = await textOf(await openRendering(first.dataset, NO_REDACTION).events(EVERYTHING, 'json'));
  assert.deepEqual(first.recordsRead.toSorted(), ['boards', 'pins', 'users']);
  assert.ok(existsSync(KEPT));
  const second = await load();
  const read = await textOf(await openRendering(second.dataset, NO_REDACTION).events(EVERYTHING, 'json'));
  assert.deepEqual(second.recordsRead, []);
  assert.ok(read === rendered);
  await first.dataset.close();
  await second.dataset.close();
});

it('renders them if the file is damaged, or from a different release', async () => {
  const whole = readFileSync(KEPT);
  const other = Buffer.from(whole.toString('latin1').replace(/ by \d/, ' by x'), 'latin1');
  for (const bytes of [whole.map((byte, at) => (at === 100_000 ? byte ^ 1 : byte)), other]) {
    writeFileSync(KEPT, bytes);
    const { dataset, recordsRead } = await load();
    const rendering = openRendering(dataset, NO_REDACTION);
    const answers = await answersOf(rendering);
    assert.ok(recordsRead.includes('users'));
    assert.deepEqual(answers, await answersOf(openRendering(dataset, NO_REDACTION)));
    assert.ok(await dataset.fragmentImage?.read(), 'a whole one has replaced it');
    await dataset.close();
  }
});

it('is read only by responses that nothing is removed from', async () => {
  const { dataset, recordsRead } = await load();
  const redaction = { ...NO_REDACTION, email: true, secret: Buffer.alloc(32, 7) };
  const redacted = openRendering(dataset, redaction);
  const text = await textOf(await redacted.events(EVERYTHING, 'json'));
  assert.ok(recordsRead.includes('users') && !text.includes('u1@x.example'));
  const [plain] = await answersOf(openRendering(dataset, NO_REDACTION));
  assert.ok(plain!.includes('u1@x.example'));
  await dataset.close();
});

it('is changed by later versions as fragments are that were rendered', async () => {
  const earlier = await load();
  const before = openRendering(earlier.dataset, NO_REDACTION);
  await answersOf(before);
  await publishRecords(store, SCHOOL, {
    users: [{ id: 2n, email: 'new@x.example', name: 'A longer name than before' }],
    boards: [{ id: 9n, title: 'Nine' }],
    events: [event(2, 9_000)],
  });
  const stored = await openPublished(store, SCHOOL);
  const grown = await growDataset(earlier.dataset, stored, () => undefined);
  assert.ok(grown !== undefined);
  const rendering = openRendering(grown, NO_REDACTION, undefined, before);
  await rendering.warm(before);
  const whole = await load();
  const expected = await answersOf(openRendering(whole.dataset, NO_REDACTION));
  assert.deepEqual(await answersOf(rendering), expected);
  assert.ok(expected[0]!.includes('A longer name'));
  assert.equal(existsSync(KEPT), false, 'it belongs to one version');
  for (const dataset of [earlier.dataset, grown, whole.dataset]) await dataset.close();
});
