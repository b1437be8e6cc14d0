/**
 * The baseline, a process of its own: Node's HTTP server sending files, without keys, scopes or anything else. Takes
 * its answers by message and replies with its port.
 */
import { createReadStream, type ReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

export interface BaselineAnswer {
  readonly path: string;
  readonly file: string;
  readonly byteLength: number;
  readonly contentType: string;
  readonly etag: string;
}

process.once('disconnect', () => process.exit());
process.once('message', (list: readonly BaselineAnswer[]) => {
  const answers = new Map(list.map((answer) => [answer.path, answer]));
  const server = createServer((request, response) => {
    const answer = answers.get(request.url ?? '');
    if (answer === undefined) {
      response.writeHead(404).end();
    } else if (request.headers['if-none-match'] === answer.etag) {
      response.writeHead(304, { etag: answer.etag }).end();
    } else {
      response.writeHead(200, {
        'content-type': answer.contentType,
        'content-length': answer.byteLength,
        etag: answer.etag,
      });
      pipeline(openFile(answer), response, (error) => {
        if (error) response.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
});

/** As Node does it by itself, in pieces of 64 KiB; without an end, each file would cost one more read. */
function openFile({ file, byteLength }: BaselineAnswer): ReadStream {
  return createReadStream(file, { end: byteLength - 1 });
}
