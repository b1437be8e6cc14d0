/** A browser as a decoder: it fetches a compressed file and returns the decoded bytes in chunks. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hasProgram } from './processes.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'] as const;
const MOST_MS = 300_000;

/**
 * Posts the decoded bytes in chunks of a few megabytes, one after the other, then reports the end.
 * It uses no blobs: the browser frees them only with its next garbage collection, and half a
 * gigabyte is too much for it.
 */
const PAGE = `<!doctype html><title>decoder</title><script type="module">
const post = (path, body) => fetch(path, { method: 'POST', body });
try {
  const reader = (await fetch('/file')).body.getReader();
  const part = new Uint8Array(8e6);
  let length = 0;
  for (;;) {
    const { done, value = new Uint8Array() } = await reader.read();
    if (done || length + value.length > part.length) { await post('/part', part.slice(0, length)); length = 0; }
    if (done) break;
    part.set(value, length);
    length += value.length;
  }
  await post('/end', '');
} catch (error) { await post('/failed', String(error)); }
</script>`;

/** Name of an installed browser; undefined if there is none. */
export function findBrowser(): string | undefined {
  return NAMES.find((name) => hasProgram(name));
}

/**
 * The bytes that the browser decodes from a file sent with this encoding. The stream fails if the
 * browser cannot decode them.
 */
export async function decodeInBrowser(
  program: string,
  encoding: 'gzip' | 'zstd',
  file: string,
  signal: AbortSignal,
): Promise<AsyncDisposable & { readonly decoded: Readable }> {
  const decoded = new PassThrough();
  const fail = (reason: string) => decoded.destroy(new Error(`${program}: ${reason}`));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/file') {
      response.setHeader('content-encoding', encoding);
      response.setHeader('content-type', 'application/json');
      return pipeline(createReadStream(file), response);
    }
    if (request.url === '/part') await copy(request, decoded);
    else if (request.url === '/end') decoded.end();
    else if (request.url === '/failed') fail(String(await request.toArray()));
    response.setHeader('content-type', 'text/html');
    return response.end(request.url === '/' ? PAGE : '');
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => fail(error.message));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const profile = await mkdtemp(join(tmpdir(), 'corkboard-browser-'));
  const limit = AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]);
  const browser = spawn(
    program,
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      `--user-data-dir=${profile}`,
      `http://127.0.0.1:${port}/`,
    ],
    { stdio: 'ignore', signal: limit },
  );
  browser.on('error', (error) => fail(error.message));
  browser.on('exit', () => fail('ended before it had decoded everything'));
  return {
    decoded,
    async [Symbol.asyncDispose]() {
      browser.removeAllListeners('exit');
      if (browser.exitCode === null && browser.kill('SIGKILL')) await once(browser, 'exit');
      server.closeAllConnections();
      server.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function copy(source: Readable, target: PassThrough): Promise<void> {
  for await (const chunk of source) if (!target.write(chunk)) await once(target, 'drain');
}
