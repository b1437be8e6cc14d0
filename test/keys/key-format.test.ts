import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { concealKeys, digestKey, isKeyId, makeKey, parseKey } from '../../src/keys/key-format.ts';

describe('a key', () => {
  it('consists of cork_, an id of 12 and a secret of 32 base32 characters, and a checksum (decision 21)', () => {
    const { id, key } = makeKey();
    assert.match(key, /^cork_[a-z2-7]{12}_[a-z2-7]{32}_[0-9a-f]{8}$/);
    assert.equal(key.split('_')[1], id);
    assert.ok(isKeyId(id));
    assert.equal(key.split('_')[3], crc32(key.slice(0, -9)).toString(16).padStart(8, '0'));
  });

  it('is different every time', () => {
    const keys = new Set(Array.from({ length: 500 }, () => makeKey().key));
    assert.equal(keys.size, 500);
    assert.equal(new Set([...keys].map((key) => key.split('_')[2])).size, 500);
  });

  it('uses all 32 characters, so that 32 characters hold 160 bits', () => {
    const characters = Array.from({ length: 200 }, () => makeKey().key.split('_')[2]).join('');
    assert.equal(new Set(characters).size, 32);
  });

  it('is parsed to its id', () => {
    const { id, key } = makeKey();
    assert.deepEqual(parseKey(key), { id, key });
  });

  it('is refused with any single character changed', () => {
    const { key } = makeKey();
    const change = fc.record({
      at: fc.nat(key.length - 1),
      to: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789_ A\n'),
    });
    fc.assert(
      fc.property(change, ({ at, to }) => {
        fc.pre(key[at] !== to);
        assert.equal(parseKey(key.slice(0, at) + to + key.slice(at + 1)), undefined);
      }),
    );
  });

  it('is refused if characters are missing or added, as is any other text', () => {
    const { key } = makeKey();
    for (const text of [
      '',
      key.slice(1),
      key.slice(0, -1),
      `${key}0`,
      ` ${key}`,
      `${key}\n`,
      key.toUpperCase(),
    ]) {
      assert.equal(parseKey(text), undefined, text);
    }
    fc.assert(fc.property(fc.string(), (text) => parseKey(text) === undefined));
  });

  it('is stored as its SHA-256', () => {
    assert.equal(
      Buffer.from(digestKey('abc')).toString('hex'),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });
});

describe('text for display', () => {
  it('contains only the id of a key', () => {
    const one = makeKey();
    const other = makeKey();
    const text = concealKeys(`apikey=${one.key}&again=${other.key}; ${one.id}`);
    assert.equal(text, `apikey=cork_${one.id}_…&again=cork_${other.id}_…; ${one.id}`);
  });

  it('contains no part of the secret of a key that is truncated or in capitals', () => {
    const { key } = makeKey();
    const secret = key.split('_')[2] ?? '';
    assert.doesNotMatch(concealKeys(key.slice(0, 30)), new RegExp(secret.slice(0, 8)));
    assert.doesNotMatch(concealKeys(key.toUpperCase()), new RegExp(secret, 'i'));
  });

  it('is otherwise unchanged', () => {
    for (const text of ['cork_', 'a corkboard', 'cork_lti_7', '']) assert.equal(concealKeys(text), text);
  });
});
