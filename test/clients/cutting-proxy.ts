/** A proxy that cuts connections after some bytes of the response, and keeps requests. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

export interface CuttingProxy {
  readonly url: string;
  /** The fields of each request, by their names in lower case. */
  readonly asked: readonly ReadonlyMap<string, string>[];
  readonly cuts: number;
  /** The most connections at the same time. */
  readonly mostOpen: number;
  close(): Promise<void>;
}

export interface CutOptions {
  /** The bytes that a connection passes on before it is cut. */
  readonly bytes: number;
  /** The number of connections that are cut, from the first on. */
  readonly cuts: number;
  /** Awaited after the last byte and before the cut. */
  readonly beforeCut?: () => Promise<unknown>;
}

export async function openCuttingProxy(
  port: number,
  { bytes, cuts, beforeCut = async () => undefined }: CutOptions,
): Promise<CuttingProxy> {
  const asked: ReadonlyMap<string, string>[] = [];
  let [made, open, mostOpen] = [0, 0, 0];
  const server = createServer((client) => {
    const origin = connect(port, '127.0.0.1');
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    let left = bytes;
    client.on('data', (data) => {
      if (/^(GET|HEAD) /.test(data.toString('latin1', 0, 5))) asked.push(fieldsOf(data.toString('latin1')));
      origin.write(data);
    });
    origin.on('data', (data) => {
      if (made >= cuts || data.length < left) {
        left -= data.length;
        if (!client.write(data)) {
          origin.pause();
          client.once('drain', () => origin.resume());
        }
        return;
      }
      made += 1;
      origin.destroy();
      client.write(data.subarray(0, left), () => void beforeCut().then(() => client.destroy()));
    });
    client.on('close', () => {
      open -= 1;
      origin.destroy();
    });
    origin.on('end', () => client.end());
    for (const socket of [client, origin]) socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    get cuts() {
      return made;
    },
    get mostOpen() {
      return mostOpen;
    },
    async close() {
      server.close();
      await once(server, 'close');
    },
  };
}

function fieldsOf(request: string): ReadonlyMap<string, string> {
  const lines = request.slice(0, request.indexOf('\r\n\r\n')).split('\r\n').slice(1);
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const;
    }),
  );
}
