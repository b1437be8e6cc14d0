/** One address in front of several PostgreSQL servers, like a proxy or a virtual address. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Switch {
  readonly port: number;
  /** New connections go to this port; existing ones are cut. */
  pointAt(port: number): void;
  close(): Promise<void>;
}

export async function startSwitch(firstPort: number): Promise<Switch> {
  let target = firstPort;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = keep(connect(target, '127.0.0.1'));
    keep(client).pipe(upstream).pipe(client);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    pointAt(port) {
      target = port;
      cut();
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
