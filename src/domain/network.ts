/**
 * Addresses of clients and networks of addresses (CIDR). An IPv4 address in the notation of IPv6
 * (`::ffff:192.0.2.1`) is an IPv4 address, and belongs to no IPv6 network.
 */
import { BlockList, isIP, SocketAddress } from 'node:net';

const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/;

interface Network {
  readonly version: 4 | 6;
  readonly address: string;
  /** Length of the prefix. */
  readonly bits: number;
}

/** An address, or an address with the length of a prefix of at least one bit. */
export function isNetwork(text: string): boolean {
  return parseNetwork(text) !== undefined;
}

function parseNetwork(text: string): Network | undefined {
  const [given = '', prefix, ...more] = text.split('/');
  const address = addressOf(given);
  // An address with a zone (fe80::1%eth0) belongs to one interface and is not a network.
  if (address === undefined || given.includes('%') || more.length > 0) return undefined;
  const version = isIP(address) === 4 ? 4 : 6;
  const most = version === 4 ? 32 : 128;
  // In the notation of IPv6, an IPv4 address comes after 96 bits.
  const before = version === 4 && given.includes(':') ? 96 : 0;
  if (prefix !== undefined && !/^[1-9]\d{0,2}$/.test(prefix)) return undefined;
  const bits = prefix === undefined ? most : Number(prefix) - before;
  return bits >= 1 && bits <= most ? { version, address, bits } : undefined;
}

/**
 * The address in its usual notation, without a zone. Absent when the text is not an address: a
 * proxy can pass on any text.
 */
export function addressOf(text: string | undefined): string | undefined {
  const version = text === undefined ? 0 : isIP(text);
  if (text === undefined || version === 0) return undefined;
  if (version === 4) return text;
  return new SocketAddress({ address: text, family: 'ipv6' }).address.replace(MAPPED, '');
}

/** IPv4 and IPv6 apart, because one list compares IPv4 addresses with IPv6 networks as well. */
type NetworkLists = Readonly<Record<4 | 6, BlockList>>;

const lists = new WeakMap<readonly string[], NetworkLists>();

/**
 * Whether one of the networks contains an address in the notation of `addressOf`; an absent one is
 * in none. The lists are kept for each array of networks.
 */
export function isInNetworks(networks: readonly string[], address: string | undefined): boolean {
  if (address === undefined) return false;
  let kept = lists.get(networks);
  if (kept === undefined) {
    kept = listsOf(networks);
    lists.set(networks, kept);
  }
  return isIP(address) === 4 ? kept[4].check(address, 'ipv4') : kept[6].check(address, 'ipv6');
}

function listsOf(networks: readonly string[]): NetworkLists {
  const made = { 4: new BlockList(), 6: new BlockList() };
  for (const { version, address, bits } of networks.map(parseNetwork).filter((one) => one !== undefined))
    made[version].addSubnet(address, bits, `ipv${version}`);
  return made;
}
