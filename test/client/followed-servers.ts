/** All that can be followed: what is tested of following runs over each of them. */
import { openProduct } from './followed-product.ts';
import { openProtocolServer } from './followed-protocol.ts';

export const SERVERS = [
  { name: 'on a server of the protocol', open: openProtocolServer },
  { name: 'on the product', open: openProduct },
] as const;
