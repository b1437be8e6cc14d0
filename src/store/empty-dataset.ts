/**
 * The dataset of an organization before its first publication (decision 67): a version without
 * records, whose clock has not started. It is not stored, neither in stores nor in their copies.
 */
import { hash } from 'node:crypto';
import type { CommonValues } from '../dataset/common-values.ts';
import type { Dataset, Ledger } from '../dataset/dataset.ts';
import type { EventBatch, EventTally, Occurrences, Revisions, Standings } from '../dataset/query.ts';
import type { Tables } from '../dataset/tables.ts';
import { NO_REDACTION } from '../domain/redaction.ts';
import { clockOf, type Unseen } from '../domain/user-clocks.ts';
import type { OrganizationEntry } from './store.ts';

const NO_COUNTS = { events: 0, users: 0, boards: 0, pins: 0 };

export class EmptyDataset implements Dataset {
  readonly version;
  readonly organization;
  readonly lookups;
  readonly userPointsKey;
  readonly policy;
  readonly counts = NO_COUNTS;
  /** Every event of the first publication has a higher sequence. */
  readonly lastSequence = 0;
  readonly kinds = [];

  constructor({ name, settings, secret }: Pick<OrganizationEntry, 'name' | 'settings' | 'secret'>) {
    // Settings of an organization without data change without a publication.
    this.version = `none of ${name} ${digestOf([settings, Buffer.from(secret).toString('hex')])}`;
    this.organization = settings;
    this.lookups = { course: settings.courseLookup, lmsUserProperties: settings.lmsUserProperties };
    this.userPointsKey = settings.userPointsKey;
    this.policy = settings.policy;
  }

  records(): AsyncIterable<never> {
    return nothing();
  }

  tables(): Tables {
    return {
      ids: nothing,
      properties: nothing,
      boardPeople: nothing,
      standings: nothing,
      earnings: nothing,
    };
  }

  async commonValues(): Promise<CommonValues> {
    return { values: [''], placeOf: new Int32Array() };
  }

  async revisions(sequence: number, unseen: Unseen = NO_REDACTION): Promise<Revisions> {
    const none = new Int32Array();
    return { sequence, clock: clockOf(unseen), people: none, boards: none, pins: none };
  }

  async forgotten(): Promise<readonly bigint[]> {
    return [];
  }

  async deletedEvents(): Promise<Float64Array> {
    return new Float64Array();
  }

  events(): AsyncIterable<EventBatch> {
    return nothing();
  }

  async tally(): Promise<EventTally> {
    const none: Occurrences = { index: new Int32Array(), count: new Float64Array() };
    return { events: 0, kind: none, actor: none, owner: none, board: none, pin: none };
  }

  async list(): Promise<Int32Array> {
    return new Int32Array();
  }

  async findBoard(): Promise<undefined> {
    return undefined;
  }

  async findUser(): Promise<undefined> {
    return undefined;
  }

  async standings(): Promise<Standings> {
    return {
      count: 0,
      user: new Int32Array(),
      board: new Int32Array(),
      totalPoints: new Float64Array(),
      participationScore: new Float64Array(),
    };
  }

  points(): AsyncIterable<Standings> {
    return nothing();
  }

  async ledger(): Promise<Ledger> {
    return { lines: [], otherPoints: 0, adjustments: [], imported: undefined, standing: undefined };
  }

  async close(): Promise<void> {
    // There are no resources to release.
  }
}

function digestOf(values: unknown): string {
  const text = JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  return hash('sha256', text, 'base64url');
}

async function* nothing(): AsyncGenerator<never, void> {
  // There are no records.
}
