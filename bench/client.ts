/**
 * The measuring client if wrk is not installed, as a separate process. It receives one load at a
 * time as a message.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './connection.ts';
import type { Load, LoadFigures } from './load.ts';
import { percentile } from './statistics.ts';

export type ClientMessage =
  | { readonly figures: LoadFigures }
  /** Why the measurement failed. */
  | { readonly failure: string };

process.once('disconnect', () => process.exit());
process.on('message', (load: Load) => {
  measureLoad(load).then(
    (figures) => process.send?.({ figures } satisfies ClientMessage),
    (error: Error) => process.send?.({ failure: error.message } satisfies ClientMessage),
  );
});

async function measureLoad(load: Load): Promise<LoadFigures> {
  const connections = await Promise.all(
    Array.from({ length: load.connections }, () => Connection.open(load.port)),
  );
  const fields = Object.entries(load.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const heads = load.paths.map((line) =>
    renderHead(line, `host: 127.0.0.1:${load.port}\r\n${fields.join('')}`),
  );
  const latencies: number[] = [];
  let next = load.first;
  const startMs = performance.now();
  const askRepeatedly = async (connection: Connection): Promise<void> => {
    do {
      const head = heads[next++ % heads.length] ?? '';
      const reply = await connection.request(head);
      if (reply.status !== load.status || reply.bodyBytes < load.leastBytes) {
        throw new Error(`${head.split('\r\n')[0]} answered ${reply.status} with ${reply.bodyBytes} bytes.`);
      }
      latencies.push(reply.lastByteMs);
      if (load.pauseMs) await pause(load.pauseMs);
    } while (performance.now() - startMs < load.seconds * 1000);
  };
  try {
    await Promise.all(connections.map(askRepeatedly));
    const seconds = (performance.now() - startMs) / 1000;
    const ascending = Float64Array.from(latencies).sort();
    return {
      requests: latencies.length,
      requestsPerSecond: latencies.length / seconds,
      p50Ms: percentile(ascending, 0.5),
      p99Ms: percentile(ascending, 0.99),
    };
  } finally {
    for (const connection of connections) connection.close();
  }
}

function renderHead(line: string, fields: string): string {
  const [path, body] = line.split('\t');
  if (body === undefined) return `GET ${path} HTTP/1.1\r\n${fields}\r\n`;
  const length = Buffer.byteLength(body);
  return `POST ${path} HTTP/1.1\r\n${fields}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
}
