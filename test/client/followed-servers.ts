/** The servers for tests of sync: each of these tests runs on all of them. */
import { openProduct } from './followed-product.ts';
import { openProtocolServer } from './followed-protocol.ts';

export const SERVERS = [
  { name: 'on a protocol server', open: openProtocolServer },
  { name: 'on the product', open: openProduct },
] as const;
