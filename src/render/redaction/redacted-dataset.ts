/**
 * A version as a redacting key sees it: the `Dataset` interface with pseudonyms and fixed texts in
 * place of redacted values (decisions 22, 63). Everything that is rendered or counted for such a
 * key reads this dataset, so no later step can reveal more.
 */
import type { CommonValues } from '../../dataset/common-values.ts';
import type { Dataset, Ledger, LedgerLine } from '../../dataset/dataset.ts';
import { firstPlace } from '../../dataset/first-place.ts';
import type {
  BoardName,
  EventBatch,
  EventQuery,
  EventTally,
  ListKind,
  ListQuery,
  PointsQuery,
  Revisions,
  Standings,
  StandingsQuery,
  UserName,
} from '../../dataset/query.ts';
import type { RecordColumns, RecordTable, Users } from '../../dataset/records.ts';
import type { Tables } from '../../dataset/tables.ts';
import type { PermittedProperty } from '../../domain/lms-split.ts';
import { hidesAddress, isRedacting } from '../../domain/redaction.ts';
import type { Scope } from '../../domain/scope.ts';
import { inSlices } from '../../system/time-slice.ts';
import type { Redacting } from '../text/rendered-body.ts';
import { boardInOrder, inPseudonymOrder, partOfPoints } from './points-order.ts';
import {
  inOrder,
  orderByPseudonyms,
  type PseudonymOrder,
  placeAfter,
  pseudonymsOf,
} from './pseudonym-order.ts';
import { redactUsers } from './redaction.ts';
import { UserPseudonyms } from './user-pseudonyms.ts';

/** Returns the dataset itself if nothing is redacted. */
export function redactDataset(dataset: Dataset, redacting: Redacting): Dataset {
  return isRedacting(redacting) ? new RedactedDataset(dataset, redacting) : dataset;
}

/** Lines of a ledger between two checks of the clock. */
const LINES_AT_ONCE = 256;

/** Replaces the reason of an adjustment, which is free text and may name users. */
const ADJUSTMENT_REASON = 'adjustment by hand';

class RedactedDataset implements Dataset {
  readonly version;
  readonly organization;
  readonly lookups;
  readonly userPointsKey;
  readonly policy;
  readonly counts;
  readonly lastSequence;
  readonly kinds;
  readonly timeline;
  readonly origin;
  readonly #dataset: Dataset;
  readonly #redacting: Redacting;
  /** Present if ids are redacted. */
  readonly #users: UserPseudonyms | undefined;
  readonly userOrder: (() => Promise<PseudonymOrder>) | undefined;

  constructor(dataset: Dataset, redacting: Redacting) {
    this.version = dataset.version;
    this.organization = dataset.organization;
    this.lookups = dataset.lookups;
    this.userPointsKey = dataset.userPointsKey;
    this.policy = dataset.policy;
    this.counts = dataset.counts;
    this.lastSequence = dataset.lastSequence;
    this.kinds = dataset.kinds;
    this.timeline = dataset.timeline;
    this.origin = dataset.origin;
    this.#dataset = dataset;
    this.#redacting = redacting;
    const users = redacting.id ? new UserPseudonyms(redacting.secret) : undefined;
    this.#users = users;
    this.userOrder = users && (() => orderByPseudonyms(dataset, users));
  }

  prepare(scope: Scope): Promise<void> | undefined {
    return this.#dataset.prepare?.(scope);
  }

  records<T extends RecordTable>(of: T): AsyncIterable<RecordColumns<T>>;
  records(of: RecordTable): AsyncIterable<unknown> {
    // Only boards and pins are passed on unchanged. The type argument makes the compiler reject
    // tables that are added later.
    return of === 'users' ? this.#readUsers() : this.#dataset.records<'boards' | 'pins'>(of);
  }

  async *#readUsers(): AsyncGenerator<Users, void> {
    for await (const users of this.#dataset.records('users')) {
      const redacted = await redactUsers(users, this.#redacting);
      yield this.#users === undefined
        ? redacted
        : { ...redacted, id: await pseudonymsOf(users.id, this.#users) };
    }
  }

  /** They contain real ids, and nothing that a key sees is made from them. */
  tables(): Tables {
    throw new Error('a redacted dataset has no tables');
  }

  async commonValues(property: PermittedProperty): Promise<CommonValues> {
    return await this.#dataset.commonValues(property);
  }

  async revisions(sequence: number): Promise<Revisions> {
    const unseen = { email: hidesAddress(this.#redacting), name: this.#redacting.name };
    return await this.#dataset.revisions(sequence, unseen);
  }

  async forgotten(scope: Scope, sequence: number): Promise<readonly bigint[]> {
    const ids = await this.#dataset.forgotten(scope, sequence);
    return this.#users === undefined ? ids : Array.from(this.#users.of(BigInt64Array.from(ids)).sort());
  }

  async deletedEvents(
    query: Omit<EventQuery, 'limit'>,
    sequence: number,
    most: number,
  ): Promise<Float64Array> {
    return await this.#dataset.deletedEvents(query, sequence, most);
  }

  events(query: EventQuery): AsyncIterable<EventBatch> {
    return this.#dataset.events(query);
  }

  async tally(query: Omit<EventQuery, 'limit'>): Promise<EventTally> {
    return await this.#dataset.tally(query);
  }

  async list(of: ListKind, query: ListQuery): Promise<Int32Array> {
    if (of === 'boards' || this.userOrder === undefined) return await this.#dataset.list(of, query);
    const { scope, range, afterId, limit } = query;
    const order = await this.userOrder();
    const listed = await this.#dataset.list(of, { scope, range });
    return inOrder(order, listed, afterId === undefined ? 0 : placeAfter(order, afterId), limit);
  }

  async findBoard(scope: Scope, name: BoardName): Promise<number | undefined> {
    return await this.#dataset.findBoard(scope, name);
  }

  async findUser(scope: Scope, name: UserName): Promise<number | undefined> {
    if (this.#users === undefined || name.by !== 'id') return await this.#dataset.findUser(scope, name);
    return await this.#dataset.findUser(scope, { by: 'id', value: this.#users.idOf(name.value) });
  }

  async standings(query: StandingsQuery): Promise<Standings> {
    const standings = await this.#dataset.standings(query);
    // The points totals of one user ascend by board already.
    if (this.userOrder === undefined || 'user' in query.of) return standings;
    return await boardInOrder(standings, await this.userOrder());
  }

  points(query: PointsQuery): AsyncIterable<Standings> {
    return this.userOrder === undefined
      ? this.#dataset.points(query)
      : this.#pointsInOrder(query, this.userOrder());
  }

  /** Begins with all users of a board, because those after a pseudonym can have any id. */
  async *#pointsInOrder(
    { after, limit = Number.POSITIVE_INFINITY, ...asked }: PointsQuery,
    ordering: Promise<PseudonymOrder>,
  ): AsyncGenerator<Standings, void> {
    const order = await ordering;
    const board = after && (await this.findBoard(asked.scope, { by: 'id', value: after.boardId }));
    const place = after?.userId === undefined ? 0 : placeAfter(order, after.userId);
    const source = this.#dataset.points({ ...asked, after: after && { boardId: after.boardId } });
    let left = limit;
    for await (const batch of inPseudonymOrder(source, order)) {
      const isAfter = (row: number) => batch.board[row] !== board || order.places[batch.user[row]!]! >= place;
      const first = firstPlace(0, batch.count, isAfter);
      if (first === batch.count) continue;
      const part = partOfPoints(batch, first, Math.min(batch.count, first + left));
      yield part;
      left -= part.count;
      if (left === 0) return;
    }
  }

  async ledger(...asked: Parameters<Dataset['ledger']>): Promise<Ledger> {
    const ledger = await this.#dataset.ledger(...asked);
    const adjustments = ledger.adjustments.map((one) => ({ ...one, reason: ADJUSTMENT_REASON }));
    return {
      ...ledger,
      adjustments,
      lines: this.#users ? await redactLines(ledger.lines, this.#users) : ledger.lines,
    };
  }

  /** The underlying dataset is closed by the caller that opened it. */
  async close(): Promise<void> {}
}

async function redactLines(
  lines: readonly LedgerLine[],
  users: UserPseudonyms,
): Promise<readonly LedgerLine[]> {
  const redacted: LedgerLine[] = [];
  const redact = (from: number, to: number) => {
    const some = lines.slice(from, to);
    const actors = users.of(BigInt64Array.from(some, ({ actorId }) => actorId));
    const owners = users.of(BigInt64Array.from(some, ({ ownerId }) => ownerId));
    for (const [at, line] of some.entries()) {
      redacted.push({ ...line, actorId: actors[at]!, ownerId: owners[at]! });
    }
  };
  await inSlices(0, lines.length, redact, LINES_AT_ONCE);
  return redacted;
}
