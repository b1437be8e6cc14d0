/** The measuring client, a process of its own: takes one load at a time by message and answers with its figures. */
import { Connection, type Reply } from './connection.ts';
import { percentile } from './statistics.ts';

export interface Load {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What every answer must be; anything else ends the measurement. */
  readonly status: number;
  readonly bodyBytes: number;
  readonly connections: number;
  /** Each connection asks again until this time is over, and at least once. */
  readonly durationMs: number;
}

export interface LoadFigures {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly firstByteMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export type ClientMessage =
  | { readonly figures: LoadFigures }
  /** Why there are none. */
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
  try {
    const startMs = performance.now();
    const replies = (
      await Promise.all(connections.map((connection) => askRepeatedly(connection, load, startMs)))
    ).flat();
    const seconds = (performance.now() - startMs) / 1000;
    const latencies = Float64Array.from(replies, (reply) => reply.lastByteMs).sort();
    return {
      requests: replies.length,
      requestsPerSecond: replies.length / seconds,
      bytesPerSecond: (replies.length * load.bodyBytes) / seconds,
      firstByteMs: percentile(Float64Array.from(replies, (reply) => reply.firstByteMs).sort(), 0.5),
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
    };
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function askRepeatedly(connection: Connection, load: Load, startMs: number): Promise<Reply[]> {
  const headers = Object.entries(load.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `GET ${load.path} HTTP/1.1\r\nhost: 127.0.0.1:${load.port}\r\n${headers.join('')}\r\n`;
  const replies: Reply[] = [];
  do {
    const reply = await connection.request(head);
    if (reply.status !== load.status || reply.bodyBytes !== load.bodyBytes) {
      throw new Error(
        `${load.path} answered ${reply.status} with ${reply.bodyBytes} bytes instead of ${load.status} with ${load.bodyBytes}.`,
      );
    }
    replies.push(reply);
  } while (performance.now() - startMs < load.durationMs);
  return replies;
}
