import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Turns } from '../../../src/server/traffic/turns.ts';

const A1 = { id: 'a1', organization: 'a' };
const A2 = { id: 'a2', organization: 'a' };
const B1 = { id: 'b1', organization: 'b' };
const C1 = { id: 'c1', organization: 'c' };

/** Requests turns concurrently, and records the order in which they begin. */
class Line {
  readonly came: string[] = [];
  readonly #ends: (() => void)[] = [];
  readonly #turns: Turns;

  constructor(queries: number, ofOrganization: number) {
    this.#turns = new Turns({ queries, 'queries-per-organization': ofOrganization });
  }

  async ask(...holders: (typeof A1)[]): Promise<void> {
    for (const holder of holders) {
      void this.#turns.take(holder).then((end) => {
        this.came.push(holder.id);
        this.#ends.push(end);
      });
    }
    await settled();
  }

  /** Ends the oldest turn. */
  async endOne(): Promise<void> {
    this.#ends.shift()?.();
    await settled();
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  it('leave room for other organizations if one has many requests', async () => {
    const line = new Line(3, 2);
    await line.ask(A1, A1, A1, A1, A2, B1);
    assert.deepEqual(line.came, ['a1', 'a1', 'b1']);
  });

  it('are given to the organization with the fewest, then to the key with the fewest, then to the oldest request', async () => {
    const line = new Line(2, 2);
    await line.ask(A1, A1, A1, A1, B1, C1);
    for (let turn = 0; turn < 4; turn += 1) await line.endOne();
    assert.deepEqual(line.came, ['a1', 'a1', 'b1', 'a1', 'c1', 'a1']);
    const ofOne = new Line(4, 3);
    await ofOne.ask(A1, A1, A1, A1, A2);
    await ofOne.endOne();
    assert.deepEqual(ofOne.came, ['a1', 'a1', 'a1', 'a2']);
  });

  it('are returned, also when the work fails', async () => {
    const turns = new Turns({ queries: 1, 'queries-per-organization': 1 });
    const failure = new Error('no disk');
    await assert.rejects(
      turns.run(A1, () => Promise.reject(failure)),
      failure,
    );
    assert.equal(await turns.run(B1, async () => turns.underWay), 1);
    assert.equal(turns.underWay, 0);
  });
});
