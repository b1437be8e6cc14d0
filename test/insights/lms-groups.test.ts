/** What a split by an LMS property reads, keeps and counts again (decision 104). */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { CommonValues } from '../../src/dataset/common-values.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { PermittedProperty } from '../../src/domain/lms-split.ts';
import { NO_REDACTION } from '../../src/domain/redaction.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { lmsGroupsOf } from '../../src/insights/lms-groups.ts';
import { splitPermission } from '../../src/keys/keyring.ts';
import { redactDataset } from '../../src/render/redaction/redacted-dataset.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { Store } from '../../src/store/store.ts';
import { openPublished, publishRecords } from '../dataset/small-world.ts';
import { PlainDataset } from '../render/plain-dataset.ts';
import { worldOf } from '../render/worlds.ts';

const REDACTING = { email: true, name: true, id: true, secret: new Uint8Array(32) };
/** Users by cohort; those without one come last. */
const COHORTS = [...fill(9, 'nine'), ...fill(10, 'ten'), 'own', ...fill(12, 'a "twelfth", é')];
const USERS = COHORTS.length + 3;

function fill(count: number, cohort: string): readonly string[] {
  return Array.from({ length: count }, () => cohort);
}

function permit(property: string): PermittedProperty {
  const permission = splitPermission(property, { redact: NO_REDACTION, lmsSplits: [property] });
  assert.ok(permission !== undefined);
  return permission;
}

const COHORT = permit('cohort');

describe('the values of an LMS property', () => {
  let folder: string;
  let store: Store;
  let dataset: Dataset;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-values-'));
    store = await openFolderStore(folder);
    await store.createOrganization('school', {});
    await publishRecords(store, 'school', {
      users: Array.from({ length: USERS }, (_, at) => {
        const cohort = COHORTS[at];
        const lms = { sis_id: `S${at}`, ...(cohort !== undefined && { cohort }) };
        return { id: BigInt(at), email: `${at}@x.example`, lms };
      }),
      boards: [{ id: 1n, title: 'Board' }],
      events: Array.from({ length: USERS }, (_, at) => ({
        ...{ type: 'board', action: 'visited', ownerId: 0n, boardId: 1n },
        ...{ actorId: BigInt(at), timestampMs: Date.UTC(2024, 0, 1 + at) },
      })),
    });
    dataset = await openPublished(store, 'school');
  });
  after(async () => {
    await dataset.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  it('are read if ten users have them, and all others are not told apart', async () => {
    const { values, placeOf } = await dataset.commonValues(COHORT);
    assert.deepEqual(values, ['', 'a "twelfth", é', 'ten']);
    const placeOfCohort = (cohort = '') => (values.includes(cohort) ? values.indexOf(cohort) : values.length);
    assert.deepEqual(
      [...placeOf],
      Array.from({ length: USERS }, (_, at) => placeOfCohort(COHORTS[at])),
    );
    const ids = await dataset.commonValues(permit('sis_id'));
    assert.deepEqual([ids.values, new Set(ids.placeOf)], [[''], new Set([1])]);
    const missing = await dataset.commonValues(permit('missing'));
    assert.deepEqual([missing.values, new Set(missing.placeOf)], [[''], new Set([0])]);
  });

  it('are kept for the properties that were used last', async () => {
    const cohorts = await dataset.commonValues(COHORT);
    const others = Array.from({ length: 8 }, (_, at) => permit(`other-${at}`));
    for (const other of others) {
      await dataset.commonValues(other);
      assert.equal(await dataset.commonValues(COHORT), cohorts);
    }
    for (const other of others) await dataset.commonValues(other);
    assert.notEqual(await dataset.commonValues(COHORT), cohorts);
  });

  it('are chosen once for a scope, whatever the range, the number of series and the redaction', async (t) => {
    const tally = t.mock.method(dataset, 'tally');
    const namesOf = async (from: Dataset, scope: Scope, most: number, startMs: number) =>
      (await lmsGroupsOf(from, COHORT, { scope, range: { startMs } }, most)).names;
    assert.deepEqual(await namesOf(dataset, FULL_SCOPE, 10, 0), ['a "twelfth", é', 'ten', undefined]);
    assert.deepEqual(await namesOf(dataset, FULL_SCOPE, 1, 9e11), ['a "twelfth", é', undefined]);
    const redacted = redactDataset(dataset, REDACTING);
    assert.deepEqual(await namesOf(redacted, FULL_SCOPE, 1, 0), ['a "twelfth", é', undefined]);
    assert.equal(tally.mock.callCount(), 1);
    const scope: Scope = { boards: 'all', users: Array.from({ length: 19 }, (_, id) => BigInt(id)) };
    assert.deepEqual(await namesOf(dataset, scope, 10, 0), [undefined]);
    assert.equal(tally.mock.callCount(), 2);
  });

  it('are all that a redacted dataset has beside events and records', async () => {
    const redacted = redactDataset(dataset, REDACTING);
    assert.equal(await redacted.commonValues(COHORT), await dataset.commonValues(COHORT));
    assert.throws(() => redacted.tables(), /has no tables/);
  });

  it('are read with a permission of a key only, which a name does not replace', async () => {
    // @ts-expect-error: the name of a property is no permission.
    assert.equal(await dataset.commonValues('cohort'), await dataset.commonValues(COHORT));
    const redact = { ...NO_REDACTION, name: true };
    for (const [property, grant] of [
      ['cohort', { redact: NO_REDACTION }],
      ['cohort', { redact: NO_REDACTION, lmsSplits: ['campus'] }],
      ['cohort', { redact, lmsSplits: ['cohort', 'campus'] }],
    ] as const) {
      assert.equal(splitPermission(property, grant), undefined);
    }
    assert.equal(splitPermission('cohort', { redact, lmsSplits: ['cohort'] }), 'cohort');
  });
});

/** Ten users of each value, and one with a value of its own, who all have one event. */
class ManyValues extends PlainDataset {
  readonly #values: number;

  constructor(values: number) {
    const world = worldOf(1);
    const actors = Array.from({ length: values * 10 + 1 }, (_, actor) => actor);
    const events = actors.map((actor) => ({ ...world.events[0]!, actor }));
    super({ ...world, people: [], events }, undefined, actors.length);
    this.#values = values;
  }

  override async commonValues(): Promise<CommonValues> {
    const values = ['', ...Array.from({ length: this.#values }, (_, at) => `value ${at}`)];
    return { values, placeOf: Int32Array.from({ length: this.counts.users }, (_, user) => 1 + user / 10) };
  }
}

it('the smallest value, which must not be shown beside a single other user, is the last of all values', async () => {
  for (const [values, shown] of [
    [2, 1],
    [1_000, 999],
    [1_001, 1_000],
  ] as const) {
    const { names } = await lmsGroupsOf(
      new ManyValues(values),
      COHORT,
      { scope: FULL_SCOPE, range: {} },
      1_000,
    );
    assert.deepEqual(names, [...Array.from({ length: shown }, (_, at) => `value ${at}`), undefined]);
  }
});
