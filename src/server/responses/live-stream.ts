/**
 * One live stream: the version that it has reported, its wake-ups, and writing to a client that
 * must keep up.
 */
import type { ServerResponse } from 'node:http';
import type { KeyEntry } from '../../keys/keyring.ts';
import type { ParsedRequest } from '../request/parsed-request.ts';
import type { DatasetLease } from '../versions/datasets.ts';

export type StreamChunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The client has disconnected, or did not read in time. */
export class StreamEnded extends Error {}

export class Stream {
  readonly question: ParsedRequest;
  /** As of the last wake-up. */
  key: KeyEntry;
  /** The version that was reported last, and its last sequence. */
  version = '';
  sequence = 0;
  hasEnded = false;
  /** Changes have been sent, but not the sync token after them. */
  #isTelling = false;
  readonly #response: ServerResponse;
  readonly #stalledMs: number;
  #isWoken = false;
  #resume: (() => void) | undefined;

  constructor(question: ParsedRequest, key: KeyEntry, response: ServerResponse, stalledMs: number) {
    this.question = question;
    this.key = key;
    this.#response = response;
    this.#stalledMs = stalledMs;
  }

  wake(): void {
    this.#isWoken = true;
    this.#resume?.();
  }

  /** Ends the response. One that has not begun is left to the pipeline. */
  end(): void {
    this.hasEnded = true;
    if (this.#response.headersSent) this.#response.end();
    this.wake();
  }

  /**
   * Ends normally between two messages, otherwise so that no client takes the stream for complete.
   */
  cut(): void {
    this.hasEnded = true;
    if (this.#isTelling) this.#response.socket?.resetAndDestroy();
    this.end();
  }

  /**
   * Resolves when there may be changes to report; at once if there were any since the last call.
   */
  async woken(): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    this.#isWoken = false;
  }

  /**
   * Sends the changes, then the sync token. If the stream breaks off in between, the client
   * receives all of these changes again.
   */
  async tell(chunks: StreamChunks, { dataset, questions }: DatasetLease): Promise<void> {
    this.#isTelling = true;
    for await (const chunk of chunks) await this.write(chunk);
    const { syncToken } = questions.bind(this.question, this.key);
    await this.write(`event: synced\nid: ${syncToken}\ndata: {"sync_token":"${syncToken}"}\n\n`);
    this.#isTelling = false;
    this.version = dataset.version;
    this.sequence = dataset.lastSequence;
  }

  /**
   * Resolves when the network has taken the bytes. Throws `StreamEnded` when it does not do so in
   * time, or the client has disconnected.
   */
  async write(bytes: Uint8Array | string): Promise<void> {
    const response = this.#response;
    if (this.hasEnded) throw new StreamEnded();
    await new Promise<void>((resolve, reject) => {
      const stalled = setTimeout(() => response.destroy(), this.#stalledMs);
      const settle = (error?: Error | null) => {
        clearTimeout(stalled);
        response.off('close', settle);
        if (error || response.destroyed) reject(new StreamEnded());
        else resolve();
      };
      response.once('close', settle);
      response.write(bytes, settle);
    });
  }
}
