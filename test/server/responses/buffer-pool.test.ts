import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { BufferPool } from '../../../src/server/responses/buffer-pool.ts';

const BYTES = 250_000;
const CONNECTIONS = 8;
/** Larger than the buffers of the system for a client that reads nothing. */
const REQUESTS = 64;

test('memory is reused for the next response only after the system has accepted all of it, also with slow clients', async (t) => {
  const scratch = new BufferPool();
  let taken = 0;
  const server = createServer((request, response) => {
    const chunk = scratch.take(BYTES);
    taken += 1;
    const bytes = chunk.block.bytes.subarray(0, BYTES).fill(request.url?.at(-1) ?? '');
    scratch.giveBackAfter(response, chunk, BYTES);
    response.end(bytes);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.pause();
  // Requests alternate, so that each connection takes memory that a different one gave back.
  for (let at = 0; at < REQUESTS; at++) {
    for (const [index, socket] of sockets.entries()) {
      socket.write(`GET /${letterOf(index, at)} HTTP/1.1\r\nhost: x\r\n\r\n`);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const bodies = await Promise.all(sockets.map(readBodies));
  for (const [index, letters] of bodies.entries()) {
    assert.deepEqual(
      letters,
      Array.from({ length: REQUESTS }, (_, at) => letterOf(index, at)),
    );
  }
  assert.equal(taken, CONNECTIONS * REQUESTS);
});

function letterOf(connection: number, at: number): string {
  return String.fromCharCode(97 + ((connection * 5 + at) % 26));
}

/** Letters of the responses, each of which consists of one letter only. */
async function readBodies(socket: Socket): Promise<string[]> {
  const letters: string[] = [];
  let rest = Buffer.alloc(0);
  for await (const data of socket) {
    rest = Buffer.concat([rest, data as Buffer]);
    for (;;) {
      const body = rest.indexOf('\r\n\r\n') + 4;
      if (body < 4 || rest.length < body + BYTES) break;
      const letter = String.fromCharCode(rest[body] ?? 0);
      assert.ok(rest.subarray(body, body + BYTES).equals(Buffer.alloc(BYTES, letter)), 'a mixed answer');
      letters.push(letter);
      rest = rest.subarray(body + BYTES);
    }
    if (letters.length === REQUESTS) break;
  }
  return letters;
}

test('a chunk is reused for responses of about its size, and at most 32 chunks are kept', () => {
  const scratch = new BufferPool();
  const first = scratch.take(5_000);
  assert.ok(first.holds(5_000) && !first.holds(10_000));
  first.appendAscii('abc');
  scratch.giveBack(first, 5_000);
  assert.notEqual(scratch.take(3_000), first);
  const again = scratch.take(8_000);
  assert.equal(again, first);
  assert.equal(again.length, 0);
  const chunks = Array.from({ length: 100 }, () => scratch.take(10));
  for (const chunk of chunks) scratch.giveBack(chunk, 10);
  const known = new Set(chunks);
  assert.equal(
    Array.from({ length: 100 }, () => scratch.take(10)).filter((chunk) => known.has(chunk)).length,
    32,
  );
});
