/**
 * Gathers checked records and hands them to a publication many at a time, so that what a record refers to always goes
 * before it.
 */
import { RECORD_KINDS, type RecordKind, type RecordOf } from '../dataset/staging.ts';
import type { Publication } from '../dataset/store.ts';

const BATCH_RECORDS = 2000;
const BATCH_CHARACTERS = 8 * 1024 * 1024;

type Batches = { [K in RecordKind]: RecordOf[K][] };

export class Stager {
  readonly #publication: Publication;
  #batches: Batches = emptyBatches();
  #records = 0;
  #characters = 0;

  constructor(publication: Publication) {
    this.#publication = publication;
  }

  add<K extends RecordKind>(kind: K, record: RecordOf[K]): void {
    this.#batches[kind].push(record);
    this.#records += 1;
  }

  /** Counts the text from which records were made, which lives as long as they do. True when it is time to flush. */
  isFull(characters: number): boolean {
    this.#characters += characters;
    return this.#records >= BATCH_RECORDS || this.#characters >= BATCH_CHARACTERS;
  }

  async flush(): Promise<void> {
    const batches = this.#batches;
    this.clear();
    for (const kind of RECORD_KINDS) await this.#stage(kind, batches);
  }

  clear(): void {
    this.#batches = emptyBatches();
    this.#records = 0;
    this.#characters = 0;
  }

  async #stage<K extends RecordKind>(kind: K, batches: Batches): Promise<void> {
    if (batches[kind].length > 0) await this.#publication.stage(kind, batches[kind]);
  }
}

function emptyBatches(): Batches {
  return { users: [], boards: [], pins: [], memberships: [], events: [], points: [], adjustments: [] };
}
