/**
 * Properties of every import of other software, whatever its documents leave out (decisions 52,
 * 70): no document ends it with an error, every record is accounted for, a valid record is not
 * refused, the order of records has no effect, given values win over derived ones, and a second
 * import of the same documents changes nothing.
 */
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { Refusal } from '../../../src/ingest/fields/refusal.ts';
import { keyedDerivation } from '../../../src/ingest/formats/derivation.ts';
import type { Detail, FormatSource, Translation } from '../../../src/ingest/formats/format.ts';
import { type ImportReport, importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import type { Store } from '../../../src/store/store.ts';
import { everybodyOf } from '../../dataset/record-columns.ts';
import { runs } from '../../model/runs.ts';
import { openRecordingStore, type StagedRecord } from '../recording-store.ts';
import { makeFolder } from '../temporary-folder.ts';
import { envelopes } from './arbitrary/caliper.ts';
import { site } from './arbitrary/discourse.ts';
import type { Documents, WrittenFile } from './arbitrary/documents.ts';
import { logs } from './arbitrary/moodle-log.ts';
import { rosters } from './arbitrary/oneroster.ts';
import { dump } from './arbitrary/stack-exchange.ts';
import { statements } from './arbitrary/xapi.ts';

/** Imports records into the organization `school`, and skips the invalid ones. */
async function load(folder: string, store: Store, documents: Documents, records: readonly FormatSource[]) {
  const files = documents.write(records);
  const place = await mkdtemp(join(folder, 'import-'));
  for (const { name, text } of files) await writeFile(join(place, name), text);
  const { format, options } = documents;
  const report = await importBundle({
    store,
    organization: 'school',
    paths: [place],
    foreign: { format, options },
    skipInvalid: join(folder, 'rejects.ndjson'),
  });
  return { report, folder: place, files };
}

interface Loaded {
  readonly report: ImportReport;
  readonly folder: string;
  readonly files: readonly WrittenFile[];
}

/** The valid records. Checks first that each of the others is refused once, and is damaged. */
function holdingOf(documents: Documents, { report, folder, files }: Loaded): readonly FormatSource[] {
  const refused = new Set(report.problems.map(({ file, line }) => `${file}:${line}`));
  assert.equal(report.problemCount, refused.size, 'no record is refused twice');
  assert.equal(report.rejected, refused.size);
  const all = files.flatMap(({ name, firstLine, records }) =>
    records.map((record, at) => ({ record, place: `${join(folder, name)}:${firstLine + at}` })),
  );
  assert.equal(report.records, all.length);
  const holding = all.filter(({ place }) => !refused.has(place));
  assert.equal(holding.length + refused.size, all.length, 'a problem names the place of a record');
  const records = all.map(({ record }) => record);
  for (const { record, place } of all) {
    if (documents.isValid(record, records))
      assert.ok(!refused.has(place), JSON.stringify([record, report.problems]));
  }
  return holding.map(({ record }) => record);
}

function checkCounts(
  { report, files }: Loaded,
  holding: readonly FormatSource[],
  documents: Documents,
): void {
  const { translated = assert.fail('a report of other software') } = report;
  const { events, dropped, described = {}, deleted = {} } = translated;
  const all = files.flatMap(({ records }) => records);
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  const counted = [
    ...Object.values(events),
    ...Object.values(described),
    ...Object.values(deleted),
    ...dropped.map(({ count }) => count),
  ];
  assert.equal(
    sum(counted),
    sum(holding.map((one) => documents.countOf(one, all))),
    'all of each record is counted',
  );
}

type Things = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** The known fields after the import, merged like in a store: the last value of each field wins. */
function thingsOf(records: readonly StagedRecord[]): Things {
  const things = new Map<string, Record<string, unknown>>();
  for (const { kind, record } of records) {
    const { file: _file, line: _line, raw: _raw, ...fields } = { raw: undefined, ...record };
    const { id, boardId, userId } = { id: undefined, boardId: undefined, userId: undefined, ...record };
    const name = `${kind} ${id ?? `${boardId} ${userId}`}`;
    const said = Object.entries(fields).filter(([, value]) => value !== undefined);
    things.set(name, { ...things.get(name), ...Object.fromEntries(said) });
  }
  return new Map([...things].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Every object that an event refers to is described, by a name and an address or by a title. */
function checkReferences(things: Things): void {
  for (const [name, { ownerId, actorId, boardId, pinId }] of things) {
    if (!name.startsWith('events ')) continue;
    for (const id of [ownerId, actorId]) {
      const { name: called, email } = things.get(`users ${id}`) ?? assert.fail(`${name}: user ${id}`);
      assert.ok(called !== undefined && email !== undefined, `${name}: user ${id}`);
    }
    assert.notEqual(things.get(`boards ${boardId}`)?.['title'], undefined, name);
    if (pinId !== undefined) assert.notEqual(things.get(`pins ${pinId}`)?.['title'], undefined, name);
  }
}

/** Each name, address or title that a valid record gives, by kind, id and field. */
async function givenBy(documents: Documents, holding: readonly FormatSource[], store: Store) {
  const { secret } = await store.organization('school');
  const given = new Map<string, string>();
  const note = (field: string, { text, isGiven }: Detail) => {
    if (isGiven) given.set(field, text);
  };
  for (const one of translationsOf(documents, holding, secret)) {
    if ('dropped' in one || 'altered' in one || 'deletes' in one) continue;
    const people =
      'describes' in one ? (one.describes === 'users' ? [one.person] : []) : [one.actor, one.owner];
    for (const person of people) {
      if (person === undefined) continue;
      note(`users ${person.id} name`, person.name);
      note(`users ${person.id} email`, person.email);
    }
    if ('board' in one) note(`boards ${one.board.id} title`, one.board.title);
    if ('pin' in one && one.pin !== undefined) note(`pins ${one.pin.id} title`, one.pin.title);
  }
  return given;
}

function translationsOf(
  { format, options }: Documents,
  records: readonly FormatSource[],
  secret: Uint8Array,
): readonly Translation[] {
  const translator = format.open(options, keyedDerivation(secret));
  for (const record of records) translator.survey?.(record, 'file:1');
  translator.endSurvey?.();
  return records.flatMap((record) => {
    try {
      return translator.translate(record);
    } catch (error) {
      if (error instanceof Refusal) return assert.fail(`a record that holds is refused: ${error.reason}`);
      throw error;
    }
  });
}

function checkGiven(things: Things, given: ReadonlyMap<string, string>): void {
  for (const [place, text] of given) {
    const [kind, id, field = ''] = place.split(' ');
    assert.equal(things.get(`${kind} ${id}`)?.[field], text, place);
  }
}

/** The published fields, in the same form. */
async function publishedThings(store: Store): Promise<Things> {
  const dataset = await store.openDataset('school');
  const things = new Map<string, Record<string, unknown>>();
  if (dataset === undefined) return things;
  try {
    for (const { id, name, email } of await everybodyOf(dataset.records('users'))) {
      things.set(`users ${id}`, { name, email });
    }
    for await (const { id: ids, title } of dataset.records('boards'))
      for (const [at, id] of ids.entries()) things.set(`boards ${id}`, { title: title.at(at) });
    for await (const { id: ids, title } of dataset.records('pins'))
      for (const [at, id] of ids.entries()) things.set(`pins ${id}`, { title: title.at(at) });
    return things;
  } finally {
    await dataset.close();
  }
}

/** The seed is printed with every run, so that a run can be repeated with `CORKBOARD_SEED`. */
function seeded(t: TestContext, most: number) {
  const seed = Number(process.env['CORKBOARD_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  t.diagnostic(`CORKBOARD_SEED=${seed}`);
  return { ...runs(most), seed };
}

for (const documents of [statements, envelopes, logs, site, dump, rosters]) {
  /** Records, and the same records in a different order, with their lists reordered as well. */
  const shuffled = documents.records.chain((records) =>
    fc
      .shuffledSubarray([...records], { minLength: records.length })
      .map((other) => ({ records, other: other.map((one) => documents.reordered?.(one) ?? one) })),
  );

  describe(`an import as ${documents.format.name}`, () => {
    it('accounts for every record, and uses the given values in whatever order', async (t) => {
      const folder = await makeFolder(t);
      const property = fc.asyncProperty(shuffled, async ({ records, other }) => {
        const store = openRecordingStore({ school: 7n });
        const loaded = await load(folder, store, documents, records);
        const holding = holdingOf(documents, loaded);
        checkCounts(loaded, holding, documents);
        const things = thingsOf(store.published);
        checkReferences(things);
        checkGiven(things, await givenBy(documents, holding, store));
        const elsewhere = openRecordingStore({ school: 7n });
        await load(folder, elsewhere, documents, other);
        assert.deepEqual(thingsOf(elsewhere.published), things);
      });
      await fc.assert(property, seeded(t, 50));
    });

    it('changes nothing the second time, and keeps the values of an earlier import', async (t) => {
      const folder = await makeFolder(t);
      const property = fc.asyncProperty(shuffled, async ({ records, other }) => {
        await using store = await openStore(await mkdtemp(join(folder, 'data-')));
        const half = records.slice(0, Math.ceil(records.length / 2));
        const first = await load(folder, store, documents, half);
        const whole = await load(folder, store, documents, other);
        const given = [
          ...(await givenBy(documents, holdingOf(documents, first), store)),
          ...(await givenBy(documents, holdingOf(documents, whole), store)),
        ];
        checkGiven(await publishedThings(store), new Map(given));
        const again = await load(folder, store, documents, records);
        const { outcome, changes, translated } = again.report;
        const { events, dropped, described, deleted } =
          translated ?? assert.fail('a report of other software');
        const taken = Object.keys({ ...events, ...described, ...deleted }).length;
        // An import that drops everything is refused; one without a valid record changes nothing.
        const expected = taken === 0 && dropped.length > 0 ? 'refused' : 'unchanged';
        assert.equal(outcome, expected, JSON.stringify(changes));
      });
      await fc.assert(property, seeded(t, 2));
    });
  });
}

async function openStore(folder: string): Promise<Store & AsyncDisposable> {
  const store = await openFolderStore(folder);
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
