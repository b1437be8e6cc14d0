import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressOf, isInNetworks, isNetwork } from '../../src/domain/network.ts';

describe('an address', () => {
  it('has one notation, without a zone, and as IPv4 if it is one', () => {
    for (const [text, address] of [
      ['192.0.2.7', '192.0.2.7'],
      ['::ffff:192.0.2.7', '192.0.2.7'],
      ['::FFFF:C000:207', '192.0.2.7'],
      ['2001:DB8:0:0::1', '2001:db8::1'],
      ['fe80::1%eth0', 'fe80::1'],
      ['::192.0.2.7', '::192.0.2.7'],
      ['', undefined],
      ['192.0.2.7:80', undefined],
      ['unknown', undefined],
    ] as const) {
      assert.equal(addressOf(text), address, text);
    }
  });

  it('is in a network with the same prefix and the same version of IP', () => {
    const networks = ['10.1.2.3/8', '192.0.2.7', '2001:db8::/32', '::/1'];
    for (const [address, isIn] of [
      ['10.255.0.1', true],
      ['11.0.0.1', false],
      ['192.0.2.7', true],
      ['192.0.2.8', false],
      ['2001:db8:ffff::1', true],
      ['1::1', true],
      ['8000::1', false],
    ] as const) {
      assert.equal(isInNetworks(networks, address), isIn, address);
    }
    assert.equal(isInNetworks(['2001:db8::1'], '2001:db8::1'), true);
    assert.equal(isInNetworks([], '192.0.2.7'), false);
    assert.equal(isInNetworks(networks, undefined), false);
  });

  it('is in a network of IPv4 addresses in the notation of IPv6', () => {
    const networks = ['::ffff:10.0.0.0/104', '::FFFF:C000:207'];
    for (const [address, isIn] of [
      ['10.255.0.1', true],
      ['11.0.0.1', false],
      ['192.0.2.7', true],
      ['192.0.2.8', false],
      ['::a00:1', false],
    ] as const) {
      assert.equal(isInNetworks(networks, address), isIn, address);
    }
    assert.deepEqual(['::ffff:10.0.0.0/96', '::ffff:10.0.0.0/129', '::ffff:10.0.0.0/97'].map(isNetwork), [
      false,
      false,
      true,
    ]);
  });
});
