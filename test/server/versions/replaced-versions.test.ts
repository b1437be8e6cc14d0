import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Dataset } from '../../../src/dataset/dataset.ts';
import { type Limits, resolveLimits } from '../../../src/server/limits/limits.ts';
import {
  type HeldVersion,
  ReplacedVersions,
  refuseRecalled,
} from '../../../src/server/versions/replaced-versions.ts';
import { PlainDataset } from '../../render/plain-dataset.ts';
import { worldOf } from '../../render/worlds.ts';

const FREE = { memory: 1e9, disk: 1e9 };
/** Approximate size of a version of the plain world, in bytes. */
const VERSION_BYTES = 16e6;

/**
 * A dataset whose users were forgotten at this sequence number. A negative number makes reading
 * fail.
 */
class ForgettingDataset extends PlainDataset {
  override readonly lastSequence: number;
  readonly #forgottenAt: number;

  constructor(lastSequence: number, forgottenAt = 0) {
    super(worldOf(2));
    this.lastSequence = lastSequence;
    this.#forgottenAt = forgottenAt;
  }

  override async forgotten(_scope?: unknown, sequence = 0): Promise<readonly bigint[]> {
    if (this.#forgottenAt < 0) throw new Error('no disk');
    return this.#forgottenAt > sequence ? [5n] : [];
  }
}

function held(dataset: Dataset = new ForgettingDataset(1)): HeldVersion {
  return { dataset, recalledFor: undefined };
}

function open(limits: Partial<Limits>, now = () => 0): ReplacedVersions {
  return new ReplacedVersions(resolveLimits(limits, 1, FREE), now);
}

describe('replaced versions', () => {
  it('are recalled when they are too old', () => {
    let nowMs = 0;
    const versions = open({ 'replaced-age': 1_000 }, () => nowMs);
    const first = held();
    versions.add('a', first);
    nowMs = 600;
    const second = held();
    versions.add('a', second);
    nowMs = 1_100;
    versions.recallExcess();
    assert.deepEqual([first.recalledFor, second.recalledFor], ['replaced-age', undefined]);
    assert.throws(() => refuseRecalled(first), { code: 'server-busy' });
    refuseRecalled(second);
  });

  it('of one organization are recalled if they are too many or too large, the oldest first, never the last', () => {
    for (const limit of ['replaced-versions-per-organization', 'replaced-memory-per-organization'] as const) {
      const versions = open({ [limit]: limit.includes('memory') ? 2.5 * VERSION_BYTES : 2 });
      const all = [held(), held(), held(), held()];
      for (const version of all) versions.add('a', version);
      versions.recallExcess();
      assert.deepEqual(
        all.map(({ recalledFor }) => recalledFor),
        [limit, limit, undefined, undefined],
      );
      const one = open({ [limit]: 0 });
      const last = held();
      one.add('a', last);
      one.recallExcess();
      assert.equal(last.recalledFor, undefined);
    }
  });

  it('of all organizations are recalled first where there are most', () => {
    const versions = open({ 'replaced-versions': 4 });
    const [other, ...many] = [held(), held(), held(), held(), held()];
    versions.add('b', other!);
    for (const version of many) versions.add('a', version);
    versions.recallExcess();
    assert.equal(other?.recalledFor, undefined);
    assert.deepEqual(
      many.map(({ recalledFor }) => recalledFor),
      ['replaced-versions', undefined, undefined, undefined],
    );
  });

  it('count until they are closed', () => {
    const versions = open({});
    const close = versions.add('a', held());
    assert.equal(versions.count, 1);
    assert.ok(versions.bytes >= VERSION_BYTES);
    close();
    assert.deepEqual([versions.count, versions.bytes], [0, 0]);
  });

  it('are recalled when the current version has forgotten a user since, and when it cannot be read', async () => {
    const versions = open({});
    const old = held(new ForgettingDataset(3));
    const recent = held(new ForgettingDataset(7));
    const other = held(new ForgettingDataset(3));
    versions.add('a', old);
    versions.add('a', recent);
    versions.add('b', other);
    await versions.recallForgotten('a', new ForgettingDataset(8, 5));
    assert.deepEqual(
      [old, recent, other].map(({ recalledFor }) => recalledFor),
      ['person-forgotten', undefined, undefined],
    );
    await versions.recallForgotten('b', new ForgettingDataset(8, -1));
    assert.equal(other.recalledFor, 'person-forgotten');
  });
});
