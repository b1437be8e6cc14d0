/** Responses without an end, written no faster than the client reads them. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const WRITTEN_AT_ONCE = 65_536;

/** Repeats `part`, and tells how many bytes it writes. */
export async function sendEndless(
  response: ServerResponse,
  part: string,
  wrote: (bytes: number) => void = () => undefined,
  fields: Readonly<Record<string, string>> = {},
): Promise<void> {
  const parts = Buffer.from(part.repeat(Math.ceil(WRITTEN_AT_ONCE / part.length)));
  function* writes() {
    for (;;) {
      wrote(parts.length);
      yield parts;
    }
  }
  response.writeHead(200, { 'content-type': 'application/x-ndjson', ...fields });
  // The client is expected to disconnect.
  await pipeline(Readable.from(writes()), response).catch(() => undefined);
}
