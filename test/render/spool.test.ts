import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { Spool } from '../../src/render/spool.ts';

function pieceOf(value: number, length: number) {
  return { bytes: Buffer.alloc(length, value), plainBytes: 10 * length, crc: value };
}

function budgetOf(totalBytes: number, plainBytes = totalBytes) {
  return { totalBytes, plainBytes, leftBytes: totalBytes };
}

test('what is kept has no name on the disk, stays inside its budget and goes with the rendering', async () => {
  const budget = budgetOf(10_000);
  const spool = new Spool(budget);
  const into = { memory: new SharedArrayBuffer(0) };
  const names = await readdir(tmpdir());
  await spool.keep('one', 'series', pieceOf(1, 6_000));
  await spool.keep('two', 'series', pieceOf(2, 6_000));
  assert.deepEqual(
    (await readdir(tmpdir())).filter((name) => name.startsWith('corkboard-') && !names.includes(name)),
    [],
  );
  const one = spool.look('one');
  assert.ok(one);
  assert.deepEqual(Buffer.from((await spool.read([one], into))!), pieceOf(1, 6_000).bytes);
  assert.deepEqual([one.plainBytes, one.crc], [60_000, 1]);
  assert.equal(spool.look('two'), undefined);
  assert.equal(budget.leftBytes, 4_000);
  await spool.close();
  assert.equal(budget.leftBytes, 10_000);
  assert.equal(spool.look('one'), undefined);
  assert.equal(await spool.read([one], into), undefined);
});

test('pieces of a series lie one behind the other whatever is kept between them, and are read together', async () => {
  const spool = new Spool(budgetOf(2 ** 30));
  const before = Buffer.from('before');
  for (let turn = 0; turn < 5; turn++) {
    await spool.keep(`a ${turn}`, 'a', pieceOf(turn, 1_000 + turn), { before });
    await spool.keep(`b ${turn}`, 'b', pieceOf(100 + turn, 20_000_000));
  }
  for (const [series, gap, pieces] of [
    ['a', before, [0, 1, 2, 3, 4].map((turn) => pieceOf(turn, 1_000 + turn))],
    ['b', Buffer.of(), [pieceOf(100, 20_000_000)]],
  ] as const) {
    const kept = pieces.map((_, turn) => spool.look(`${series} ${turn}`)!);
    assert.deepEqual(
      kept.map(({ plainBytes, crc }) => [plainBytes, crc]),
      pieces.map(({ plainBytes, crc }) => [plainBytes, crc]),
    );
    const into = { memory: new SharedArrayBuffer(0) };
    const read = await spool.read(kept, into);
    assert.ok(read !== undefined && read.buffer === into.memory);
    assert.deepEqual(Buffer.from(read), Buffer.concat(pieces.flatMap(({ bytes }) => [gap, bytes])));
  }
  await spool.close();
});

test('an empty piece takes no bytes, whatever would stand before it', async () => {
  const budget = budgetOf(10_000);
  const spool = new Spool(budget);
  const before = Buffer.from('before');
  await spool.keep('one', 'a', pieceOf(1, 0), { before });
  await spool.keep('two', 'a', pieceOf(2, 10), { before });
  assert.deepEqual([spool.look('one')?.length, spool.look('two')?.length], [0, 16]);
  assert.equal(budget.leftBytes, 10_000 - 16);
  const empty = await spool.read([spool.look('one')!], { memory: new SharedArrayBuffer(0) });
  assert.equal(empty?.length, 0);
  await spool.close();
});

test('plain pieces leave room for compressed ones', async () => {
  const spool = new Spool(budgetOf(10_000, 5_000));
  await spool.keep('plain', 'a', pieceOf(1, 4_000), { isPlain: true });
  await spool.keep('too much', 'a', pieceOf(2, 4_000), { isPlain: true });
  await spool.keep('compressed', 'b', pieceOf(3, 6_000));
  assert.deepEqual(
    ['plain', 'too much', 'compressed'].map((name) => spool.look(name)?.length),
    [4_000, undefined, 6_000],
  );
  await spool.close();
});

test('a disk that proves slow keeps compressed pieces only, for a while', async () => {
  const spool = new Spool(budgetOf(2 ** 30), Number.POSITIVE_INFINITY);
  for (let turn = 0; turn < 6; turn++) {
    await spool.keep(`plain ${turn}`, 'a', pieceOf(turn, 20_000_000), { isPlain: true });
  }
  await spool.keep('compressed', 'b', pieceOf(9, 20_000_000));
  const names = ['plain 0', 'plain 1', 'plain 2', 'plain 3', 'plain 4', 'plain 5', 'compressed'];
  assert.deepEqual(
    names.map((name) => spool.look(name) !== undefined),
    [true, true, true, true, false, false, true],
  );
  await spool.close();
});
