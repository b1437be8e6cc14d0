/**
 * The HTTP server of Node as a separate process that sends prepared responses, without keys or
 * scopes. Small bodies are in memory, large ones are read from their file. It receives the list of
 * responses as a message, and replies with its port.
 */
import { createReadStream, type ReadStream, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

export interface BaselineAnswer {
  readonly path: string;
  readonly file: string;
  readonly byteLength: number;
  readonly etag: string;
}

/** Larger bodies are read from their file for every request. */
const KEPT_BYTES = 2 * 1024 * 1024;

process.once('disconnect', () => process.exit());
process.once('message', (list: readonly BaselineAnswer[]) => {
  const answers = new Map(
    list.map((answer) => [
      answer.path,
      { ...answer, kept: answer.byteLength > KEPT_BYTES ? undefined : readFileSync(answer.file) },
    ]),
  );
  const server = createServer((request, response) => {
    const answer = answers.get(request.url ?? '');
    if (answer === undefined) {
      response.writeHead(404).end();
    } else if (request.headers['if-none-match'] === answer.etag) {
      response.writeHead(304, { etag: answer.etag }).end();
    } else {
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': answer.byteLength,
        etag: answer.etag,
      });
      if (answer.kept) response.end(answer.kept);
      else {
        pipeline(openFile(answer), response, (error) => {
          if (error) response.destroy();
        });
      }
    }
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
});

/**
 * Uses the default chunks of Node, 64 KiB. Without `end`, each file would cost an additional read.
 */
function openFile({ file, byteLength }: BaselineAnswer): ReadStream {
  return createReadStream(file, { end: byteLength - 1 });
}
