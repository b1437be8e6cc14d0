/** Whether a response counts as complete, which the log says: with all bytes, and only then. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { writeChunks } from '../../../src/server/responses/send.ts';

const LARGEST_CHUNK = 300_000;
/** Fit in no buffer between the two ends. */
const LARGE_CHUNKS = 100;

interface Body {
  readonly chunks: readonly number[];
  /** What the source still has to do after its last chunk. */
  readonly restMs: number;
}

async function* sourceOf({ chunks, restMs }: Body): AsyncGenerator<Uint8Array, void> {
  for (const length of chunks) yield new Uint8Array(length);
  await setTimeout(restMs);
}

const sum = (lengths: readonly number[]) => lengths.reduce((total, length) => total + length, 0);

describe('a response with an announced length', () => {
  let body: Body;
  let wasComplete: Promise<boolean>;
  const server = createServer((_request, response) => {
    response.setHeader('content-length', sum(body.chunks));
    wasComplete = once(response, 'close').then(() => response.writableFinished);
    writeChunks(sourceOf(body), response).catch(() => undefined);
  });
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => server.close());

  /** Reads until it has `wanted` bytes of the body, and closes the connection at once. */
  async function read(wanted: number, pauseMs: number): Promise<void> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    let received = -1;
    for await (const chunk of socket) {
      const start = received < 0 ? chunk.indexOf('\r\n\r\n') + 4 : 0;
      received = Math.max(received, 0) + chunk.length - start;
      if (received >= wanted) break;
      if (pauseMs > 0) await setTimeout(pauseMs);
    }
    socket.destroy();
  }

  it('is complete for a client that leaves with the last byte, fast or slow', async () => {
    const bodies = fc.record({
      chunks: fc.array(fc.integer({ min: 1, max: LARGEST_CHUNK }), { minLength: 1, maxLength: 8 }),
      restMs: fc.constantFrom(0, 30),
    });
    const property = fc.asyncProperty(bodies, fc.constantFrom(0, 2), async (made, pauseMs) => {
      body = made;
      await read(sum(made.chunks), pauseMs);
      assert.equal(await wasComplete, true);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it('is not complete for a client that leaves before', async () => {
    body = { chunks: new Array(LARGE_CHUNKS).fill(LARGEST_CHUNK), restMs: 0 };
    await read(1, 0);
    assert.equal(await wasComplete, false);
  });
});
