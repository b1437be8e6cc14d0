/**
 * Compresses a block of a response in a render thread. Node's compression leaves garbage. In the
 * thread that serves requests, collecting it takes longer, because that heap is much larger.
 */
import { promisify } from 'node:util';
import { deflateRaw, constants as zlib } from 'node:zlib';

/** Plain bytes that are compressed independently. Longer blocks do not compress better. */
export const BLOCK_BYTES = 1024 * 1024;
/** On a network of 1 Gbit/s, a smaller response that takes longer to make arrives later. */
export const GZIP_LEVEL = 1;
const OPTIONS = {
  level: GZIP_LEVEL,
  // Usually holds a whole compressed block. The garbage collector also counts unused space of
  // buffers, and would run because of it.
  chunkSize: BLOCK_BYTES / 4,
  finishFlush: zlib.Z_SYNC_FLUSH,
};

/**
 * Deflate blocks (RFC 1951) that contain the bytes, none of them marked as the last one. They end
 * on a byte boundary and have memory of their own.
 */
export async function deflateBlock(block: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const deflated = await promisify(deflateRaw)(block, OPTIONS);
  // Node puts short results together into memory that other buffers share.
  return deflated.buffer.byteLength <= Buffer.poolSize ? new Uint8Array(deflated) : deflated;
}
