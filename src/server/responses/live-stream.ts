/** One live stream: what it has told of, what wakes it, and writing to a client that has to keep up. */
import type { ServerResponse } from 'node:http';
import type { KeyEntry } from '../../keys/keyring.ts';
import type { Question } from '../request/question.ts';
import type { DatasetLease } from '../versions/datasets.ts';

export type StreamChunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The client has gone, or has not taken what was sent. */
export class StreamEnded extends Error {}

export class Stream {
  readonly question: Question;
  readonly key: KeyEntry;
  /** The version that was told of last, and its clock. */
  version = '';
  sequence = 0;
  hasEnded = false;
  /** Some changes have been sent, and the token after them has not. */
  #isTelling = false;
  readonly #response: ServerResponse;
  readonly #stalledMs: number;
  #isWoken = false;
  #resume: (() => void) | undefined;

  constructor(question: Question, key: KeyEntry, response: ServerResponse, stalledMs: number) {
    this.question = question;
    this.key = key;
    this.#response = response;
    this.#stalledMs = stalledMs;
  }

  wake(): void {
    this.#isWoken = true;
    this.#resume?.();
  }

  /** What has not begun is answered by the pipeline. */
  end(): void {
    this.hasEnded = true;
    if (this.#response.headersSent) this.#response.end();
    this.wake();
  }

  /** Ends in good order between two messages, otherwise so that no client takes it for whole. */
  cut(): void {
    this.hasEnded = true;
    if (this.#isTelling) this.#response.socket?.resetAndDestroy();
    this.end();
  }

  /** Ends when there may be something to tell, at once when there has been since the last time. */
  async woken(): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    this.#isWoken = false;
  }

  /** What has changed, and then the token, so that a stream that breaks off in between is told all of it again. */
  async tell(chunks: StreamChunks, { dataset, questions }: DatasetLease): Promise<void> {
    this.#isTelling = true;
    for await (const chunk of chunks) await this.write(chunk);
    const { syncToken } = questions.bind(this.question, this.key);
    await this.write(`event: synced\nid: ${syncToken}\ndata: {"sync_token":"${syncToken}"}\n\n`);
    this.#isTelling = false;
    this.version = dataset.version;
    this.sequence = dataset.lastSequence;
  }

  /** Ends when the network has taken it. Throws when it does not in time, or the client has gone. */
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
