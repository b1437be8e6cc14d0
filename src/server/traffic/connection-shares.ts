/**
 * Shares of the connections (decision 60). A connection counts for the last key that was sent on
 * it. Connections that have not carried a valid key may be idle for a short time only, and are
 * closed to make room for new ones.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import type { KeyEntry } from '../../keys/keyring.ts';
import type { Limits } from '../limits/limits.ts';
import { type CountRefusal, Quota, type Share } from '../limits/quota.ts';
import { isAnswering } from './connection.ts';

interface Claim {
  readonly keyId: string;
  readonly share: Share;
}

export class ConnectionShares {
  readonly #limits: Limits;
  readonly #countRefusal: CountRefusal;
  readonly #quota: Quota;
  readonly #claims = new Map<Socket, Claim>();
  /** Connections without a valid key so far, the oldest first. */
  readonly #strangers = new Set<Socket>();

  constructor(limits: Limits, countRefusal: CountRefusal) {
    this.#limits = limits;
    this.#countRefusal = countRefusal;
    this.#quota = new Quota('connections', limits, countRefusal);
  }

  get withKey(): number {
    return this.#claims.size;
  }

  get withoutKey(): number {
    return this.#strangers.size;
  }

  /** Must be called before the server listens. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      if (this.#strangers.size >= this.#limits['connections-without-key']) this.#makeRoom();
      this.#strangers.add(socket);
      socket.once('close', () => {
        this.#strangers.delete(socket);
        this.#claims.get(socket)?.share.giveBack();
        this.#claims.delete(socket);
      });
    });
  }

  /** Must be called for each request with a valid key. Throws `too-many-connections`. */
  claim(socket: Socket, key: KeyEntry): void {
    const present = this.#claims.get(socket);
    if (present?.keyId === key.id || socket.destroyed) return;
    present?.share.giveBack();
    this.#claims.delete(socket);
    this.#strangers.add(socket);
    this.#claims.set(socket, { keyId: key.id, share: this.#quota.take(key) });
    this.#strangers.delete(socket);
  }

  /**
   * Must be called for each response. Announces and sets the idle time of a connection without a
   * key.
   */
  limitIdleTime(socket: Socket, reply: FastifyReply): void {
    if (this.#claims.has(socket)) return;
    // A socket timeout of 0 means no limit.
    const idleMs = Math.max(1, this.#limits['keep-alive-without-key']);
    const { raw } = reply;
    if (raw.shouldKeepAlive && raw.getHeader('connection') === undefined && !reply.hasHeader('connection')) {
      reply.headers({ connection: 'keep-alive', 'keep-alive': `timeout=${Math.floor(idleMs / 1000)}` });
    }
    // Runs after Node has set its own idle time on the socket.
    raw.once('close', () => {
      if (!this.#claims.has(socket) && !isAnswering(socket)) socket.setTimeout(idleMs);
    });
  }

  /** Closes the oldest connection without a request in progress; if all have one, the oldest. */
  #makeRoom(): void {
    this.#countRefusal('connections-without-key');
    let oldest: Socket | undefined;
    for (const socket of this.#strangers) {
      oldest ??= socket;
      if (isAnswering(socket)) continue;
      oldest = socket;
      break;
    }
    oldest?.destroy();
    // The `close` event of the socket comes later.
    if (oldest !== undefined) this.#strangers.delete(oldest);
  }
}
