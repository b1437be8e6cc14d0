/**
 * A version as a redacting key sees it: the `Dataset` port with pseudonyms and fixed texts in place of what is redacted
 * (decisions 22, 63). Whatever is rendered or counted for such a key reads this, so nothing behind it can show more.
 */
import type { Dataset, Ledger } from '../dataset/dataset.ts';
import type {
  BoardName,
  EventBatch,
  EventQuery,
  EventTally,
  ListQuery,
  Revisions,
  Standings,
  StandingsQuery,
  UserName,
} from '../dataset/query.ts';
import type { Board, Person, Pin } from '../dataset/records.ts';
import { isRedacting } from '../dataset/redaction.ts';
import type { Scope } from '../dataset/scope.ts';
import type { Tables } from '../dataset/tables.ts';
import type { Redacting } from './answer.ts';
import { redactPerson } from './redaction.ts';

/** The dataset itself where nothing is redacted. */
export function redactDataset(dataset: Dataset, redacting: Redacting): Dataset {
  return isRedacting(redacting) ? new RedactedDataset(dataset, redacting) : dataset;
}

/** Free text that may name anybody. */
const ADJUSTMENT_REASON = 'adjustment by hand';

class RedactedDataset implements Dataset {
  readonly version;
  readonly organization;
  readonly lookups;
  readonly policy;
  readonly counts;
  readonly lastSequence;
  readonly kinds;
  readonly timeline;
  readonly #dataset: Dataset;
  readonly #redacting: Redacting;

  constructor(dataset: Dataset, redacting: Redacting) {
    this.version = dataset.version;
    this.organization = dataset.organization;
    this.lookups = dataset.lookups;
    this.policy = dataset.policy;
    this.counts = dataset.counts;
    this.lastSequence = dataset.lastSequence;
    this.kinds = dataset.kinds;
    this.timeline = dataset.timeline;
    this.#dataset = dataset;
    this.#redacting = redacting;
  }

  async *people(): AsyncGenerator<readonly Person[], void> {
    for await (const people of this.#dataset.people()) {
      yield people.map((person) => redactPerson(person, this.#redacting));
    }
  }

  boards(): AsyncIterable<readonly Board[]> {
    return this.#dataset.boards();
  }

  pins(): AsyncIterable<readonly Pin[]> {
    return this.#dataset.pins();
  }

  /** Real ids stand in them, and nothing that a key sees is made of them. */
  tables(): Tables {
    throw new Error('a redacted dataset has no tables');
  }

  async revisions(sequence: number): Promise<Revisions> {
    return await this.#dataset.revisions(sequence, this.#redacting);
  }

  async forgotten(scope: Scope, sequence: number): Promise<readonly bigint[]> {
    return await this.#dataset.forgotten(scope, sequence);
  }

  events(query: EventQuery): AsyncIterable<EventBatch> {
    return this.#dataset.events(query);
  }

  async tally(query: Omit<EventQuery, 'limit'>): Promise<EventTally> {
    return await this.#dataset.tally(query);
  }

  async listBoards(query: ListQuery): Promise<Int32Array> {
    return await this.#dataset.listBoards(query);
  }

  async listUsers(query: ListQuery): Promise<Int32Array> {
    return await this.#dataset.listUsers(query);
  }

  async findBoard(scope: Scope, name: BoardName): Promise<number | undefined> {
    return await this.#dataset.findBoard(scope, name);
  }

  async findUser(scope: Scope, name: UserName): Promise<number | undefined> {
    return await this.#dataset.findUser(scope, name);
  }

  async standings(query: StandingsQuery): Promise<Standings> {
    return await this.#dataset.standings(query);
  }

  async ledger(...asked: Parameters<Dataset['ledger']>): Promise<Ledger> {
    const ledger = await this.#dataset.ledger(...asked);
    const adjustments = ledger.adjustments.map((one) => ({ ...one, reason: ADJUSTMENT_REASON }));
    return { ...ledger, adjustments };
  }

  /** The dataset beneath belongs to whoever opened it. */
  async close(): Promise<void> {}
}
