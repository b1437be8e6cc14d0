/**
 * Small answers as they went out, for whoever asks the same again: bounded, the ones not asked for longest go first.
 * Kept are those that are given for the second time, while there is room, and then a few of them: most are asked for once,
 * and keeping each costs more than it saves.
 *
 * A wrong hit would show a key what it must not see (decision 12), so here is why there is none. An answer is kept
 * under its entity tag, and with the very dataset it was made from. The tag is a digest of 132 bits, made with a
 * secret of the organization, of everything that settles the bytes: version, variant, route, subject, range, scope,
 * page, redaction, representation and encoding (`question.ts`). It is computed here from the key of the request at
 * hand, never taken from the client. Two organizations share neither datasets nor secrets.
 */
import type { Dataset } from '../dataset/dataset.ts';
import { Doorkeeper } from './memory.ts';

export interface FinishedAnswer {
  /** Compressed already, where the question was for that. */
  readonly bytes: Buffer;
  /** Cursor of the next page; absent when there is none. */
  readonly next: string | undefined;
}

interface Kept extends FinishedAnswer {
  readonly dataset: Dataset;
}

const MOST_BYTES = 32 * 1024 * 1024;
const REMEMBERED_TAGS = 1024;
/**
 * So many of those that would displace others are kept, by chance. Whoever asks for more answers in turn than there is
 * room for would else copy each and find none: now some stay until they are asked for again.
 */
const DISPLACING_SHARE = 1 / 16;
/** About what an answer takes beside its bytes. */
const OVERHEAD_BYTES = 512;

export class FinishedAnswers {
  /** By entity tag, the one asked for last at the end. */
  readonly #kept = new Map<string, Kept>();
  /** Entity tags of answers that were given. */
  readonly #given = new Doorkeeper(REMEMBERED_TAGS);
  readonly #mostBytes: number;
  readonly #mayDisplace: () => boolean;
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES, mayDisplace = () => Math.random() < DISPLACING_SHARE) {
    this.#mostBytes = mostBytes;
    this.#mayDisplace = mayDisplace;
  }

  find(dataset: Dataset, etag: string): FinishedAnswer | undefined {
    const kept = this.#kept.get(etag);
    if (kept?.dataset !== dataset) return undefined;
    this.#kept.delete(etag);
    this.#kept.set(etag, kept);
    return kept;
  }

  /** To be called for every answer that was made; copies the bytes of those that were made before, and are to be kept. */
  keep(dataset: Dataset, etag: string, { bytes, next }: FinishedAnswer): void {
    if (!this.#given.knows(etag)) return;
    if (this.#bytes + sizeOf(bytes) > this.#mostBytes && !this.#mayDisplace()) return;
    this.#remove(etag);
    this.#kept.set(etag, { dataset, bytes: copyOf(bytes), next });
    this.#bytes += sizeOf(bytes);
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#mostBytes) break;
      this.#remove(oldest);
    }
  }

  /** To be called when a version goes out of service. */
  forget(dataset: Dataset): void {
    for (const [etag, kept] of this.#kept) if (kept.dataset === dataset) this.#remove(etag);
  }

  #remove(etag: string): void {
    const kept = this.#kept.get(etag);
    if (kept === undefined) return;
    this.#bytes -= sizeOf(kept.bytes);
    this.#kept.delete(etag);
  }
}

/** In memory of its own: that of the answer is used again. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function sizeOf(bytes: Buffer): number {
  return bytes.length + OVERHEAD_BYTES;
}
