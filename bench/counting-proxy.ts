/** A TCP proxy on the loopback interface that counts bytes. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CountingProxy extends AsyncDisposable {
  readonly port: number;
  /** Bytes from the target to the clients so far. */
  readonly bytesDown: number;
}

export async function startCountingProxy(targetPort: number): Promise<CountingProxy> {
  let bytesDown = 0;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((client) => {
    const target = keep(connect(targetPort, '127.0.0.1'));
    target.on('data', (bytes) => {
      bytesDown += bytes.length;
    });
    keep(client).pipe(target).pipe(client);
    client.once('close', () => target.destroy());
    target.once('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get bytesDown() {
      return bytesDown;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
