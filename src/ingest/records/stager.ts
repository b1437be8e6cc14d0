/**
 * Collects checked records and passes them to a publication in batches, so that a record always
 * follows the records that it refers to. Events are passed as columns, unless they have a body or
 * are kept as they were read.
 */
import {
  type DeletionOf,
  type EventRecord,
  RECORD_KINDS,
  type RecordKind,
  type RecordOf,
} from '../../store/staging.ts';
import type { Publication } from '../../store/store.ts';
import { LAST_LINE, RecordBuffer } from './event-columns.ts';

const BATCH_RECORDS = 2000;
const BATCH_CHARACTERS = 8 * 1024 * 1024;

type Batches = { [K in RecordKind]: RecordOf[K][] };

export class Stager {
  readonly #publication: Publication;
  readonly #events = new RecordBuffer();
  #batches: Batches = emptyBatches();
  /** Stages the last record, if it was a deletion. */
  #deletion: ((publication: Publication) => Promise<void>) | undefined;
  #records = 0;
  #characters = 0;

  constructor(publication: Publication) {
    this.#publication = publication;
  }

  /** All records between two flushes must be from one file. */
  add<K extends RecordKind>(kind: K, record: RecordOf[K]): void {
    this.#records += 1;
    // The kind determines the type of the record, which the compiler cannot infer.
    if (kind === 'events' && this.#fitsColumns(record as EventRecord))
      this.#events.add(record as EventRecord);
    else this.#batches[kind].push(record);
  }

  /** Makes `flush` due, so that the deletion comes after earlier records and before later ones. */
  delete<K extends RecordKind>(kind: K, deletion: DeletionOf[K]): void {
    this.#deletion = (publication) => publication.stageDeletions(kind, [deletion]);
  }

  /**
   * Adds the length of the texts that the records keep in memory. True if `flush` is due.
   */
  isFull(characters: number): boolean {
    this.#characters += characters;
    if (this.#deletion !== undefined || this.#events.isFull) return true;
    return this.#records >= BATCH_RECORDS || this.#characters >= BATCH_CHARACTERS;
  }

  async flush(): Promise<void> {
    for (const kind of RECORD_KINDS) {
      if (kind === 'events' && this.#events.count > 0) await this.#publication.stageEvents(this.#events);
      await this.#stage(kind);
    }
    await this.#deletion?.(this.#publication);
    this.clear();
  }

  clear(): void {
    this.#events.clear();
    this.#batches = emptyBatches();
    this.#deletion = undefined;
    this.#records = 0;
    this.#characters = 0;
  }

  /** Columns are staged first, so events behind one that does not fit are kept with it. */
  #fitsColumns({ raw, line, body }: EventRecord): boolean {
    const isFirst = this.#batches.events.length === 0;
    return isFirst && raw === undefined && body === undefined && line >= 0 && line <= LAST_LINE;
  }

  async #stage<K extends RecordKind>(kind: K): Promise<void> {
    if (this.#batches[kind].length > 0) await this.#publication.stage(kind, this.#batches[kind]);
  }
}

function emptyBatches(): Batches {
  return { users: [], boards: [], pins: [], memberships: [], events: [], points: [], adjustments: [] };
}
