import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inOrder, orderByPseudonyms, placeAfter } from '../../../src/render/redaction/pseudonym-order.ts';
import { UserPseudonyms } from '../../../src/render/redaction/user-pseudonyms.ts';
import { PlainDataset } from '../plain-dataset.ts';
import { worldOf } from '../worlds.ts';

const users = new UserPseudonyms(Buffer.from('a secret of the organization'));
const isExact = (id: bigint) => id >= 0n && id < 2n ** 53n;

const EDGES = [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, -1n, -(2n ** 63n)];
const id = fc.oneof(
  fc.constantFrom(...EDGES),
  fc.bigInt(0n, 2n ** 53n - 1n),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
);

test('a pseudonym can be converted back to the id, and is exact in every client if the id is', () => {
  fc.assert(
    fc.property(id, (one) => {
      const pseudonym = users.ofOne(one);
      assert.equal(users.idOf(pseudonym), one);
      assert.equal(users.ofOne(users.idOf(one)), one);
      assert.equal(isExact(pseudonym), isExact(one));
    }),
    { numRuns: 2_000 },
  );
});

test('many ids at once have the same pseudonyms as each id alone', () => {
  fc.assert(
    fc.property(fc.array(id, { maxLength: 40 }), (ids) => {
      assert.deepEqual(
        [...users.of(BigInt64Array.from(ids))],
        ids.map((one) => users.ofOne(one)),
      );
    }),
  );
});

test('adjacent ids have different pseudonyms, and a different secret gives different ones', () => {
  const ids = BigInt64Array.from({ length: 20_000 }, (_, at) => BigInt(at) - 10_000n);
  const pseudonyms = users.of(ids);
  assert.equal(new Set(pseudonyms).size, ids.length);
  const elsewhere = new UserPseudonyms(Buffer.from('another secret')).of(ids);
  assert.ok(pseudonyms.every((one, at) => one !== elsewhere[at]));
});

test('pseudonyms never change, because clients store them', () => {
  assert.deepEqual([...users.of(BigInt64Array.from(EDGES))], KNOWN);
});

/** Pseudonyms of `EDGES`. */
const KNOWN = [
  ...[7_136_036_198_540_427n, 2_754_202_568_200_554n, 7_681_183_112_529_536n, 484_612_524_485_067_204n],
  ...[-807_102_683_621_925_271n, 2_768_987_353_256_251_248n, -6_203_800_005_877_785_910n],
];

test('users are listed in the order of their pseudonyms, from any position', async () => {
  const property = fc.asyncProperty(
    fc.uniqueArray(id, { minLength: 1, maxLength: 60 }),
    fc.nat(),
    fc.nat(),
    async (ids, start, limit) => {
      const dataset = Object.assign(new PlainDataset({ ...worldOf(0), people: [] }), {
        counts: { events: 0, users: ids.length, boards: 0, pins: 0 },
        tables: () => ({
          async *ids() {
            const [first, rest] = [ids.slice(0, 7), ids.slice(7)];
            for (const part of [first, rest]) yield BigInt64Array.from(part);
          },
        }),
      });
      const order = await orderByPseudonyms(dataset as never, users);
      const sorted = [...ids.keys()].toSorted((one, other) =>
        users.ofOne(ids[one]!) < users.ofOne(ids[other]!) ? -1 : 1,
      );
      assert.deepEqual([...order.byPlace], sorted);
      assert.deepEqual(
        order.places.map((place) => order.byPlace[place]!),
        Int32Array.from(ids.keys()),
      );
      const after = users.ofOne(ids[start % ids.length]!);
      const from = placeAfter(order, after);
      assert.equal(from, sorted.indexOf(start % ids.length) + 1);
      const meant = [...ids.keys()].filter((index) => index % 3 !== 0);
      const expected = sorted
        .filter((index, place) => place >= from && meant.includes(index))
        .slice(0, limit % 5);
      assert.deepEqual([...inOrder(order, Int32Array.from(meant), from, limit % 5)], expected);
      assert.deepEqual([...inOrder(order, Int32Array.from(ids.keys()), from)], sorted.slice(from));
    },
  );
  await fc.assert(property);
});
