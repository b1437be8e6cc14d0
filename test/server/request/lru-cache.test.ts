import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Doorkeeper } from '../../../src/server/bodies/doorkeeper.ts';
import { LruCache } from '../../../src/server/request/lru-cache.ts';

describe('an LRU cache', () => {
  it('keeps the value of a text that comes again', () => {
    const memory = new LruCache<object>(2);
    const first = memory.take('a', () => ({}));
    const made = memory.take('a', () => ({}));
    assert.notEqual(made, first);
    assert.equal(
      memory.take('a', () => ({})),
      made,
    );
    assert.notEqual(
      memory.take('b', () => ({})),
      made,
    );
  });

  it('keeps at least as many entries as its limit, the most recently used ones, and at most twice as many', () => {
    const memory = new LruCache<number>(10);
    for (let number = 0; number < 1_000; number++) {
      memory.keep(String(number), number);
      // Used repeatedly, therefore never evicted.
      assert.equal(memory.find('0'), 0);
    }
    const kept = Array.from({ length: 1_000 }, (_, number) => number).filter(
      (number) => memory.find(String(number)) !== undefined,
    );
    assert.ok(kept.length <= 20, String(kept.length));
    assert.ok(kept.includes(0));
    for (let number = 991; number < 1_000; number++) assert.ok(kept.includes(number));
  });

  it('keeps neither failures nor long texts', () => {
    const memory = new LruCache<number>(10);
    let calls = 0;
    const fail = () => {
      calls += 1;
      throw new Error('no');
    };
    for (const _ of [1, 2]) assert.throws(() => memory.take('a', fail));
    assert.equal(calls, 2);
    const long = 'x'.repeat(10_000);
    for (const _ of [1, 2]) memory.take(long, () => 1);
    assert.equal(memory.find(long), undefined);
  });
});

describe('a doorkeeper', () => {
  it('knows at least as many texts as its limit, the most recent ones, and at most twice as many', () => {
    const doorkeeper = new Doorkeeper(100);
    const texts = Array.from({ length: 1_000 }, (_, number) => `/a/v1/events/board/${number}`);
    for (const text of texts) assert.equal(doorkeeper.knows(text), false, text);
    for (const text of texts.slice(-100)) assert.equal(doorkeeper.knows(text), true, text);
    const known = texts.slice(0, -100).filter((text) => doorkeeper.knows(text));
    assert.ok(known.length <= 100, String(known.length));
  });

  it('mistakes few new texts for known ones', () => {
    const doorkeeper = new Doorkeeper(10_000);
    let mistaken = 0;
    // About 200 million pairs of texts, of which one in 2,000 million is mistaken by chance.
    for (let number = 0; number < 20_000; number++) mistaken += Number(doorkeeper.knows(`"${number}"`));
    assert.ok(mistaken <= 2, String(mistaken));
  });
});
