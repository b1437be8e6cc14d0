/**
 * Answers of one dataset as bytes. Fragments of its people, boards and pins are made once and kept as long as the
 * rendering lives; an answer is a copy of them.
 */
import { hash } from 'node:crypto';
import type { Dataset } from '../dataset/dataset.ts';
import type { EventQuery, ListQuery, StandingsQuery } from '../dataset/query.ts';
import type { Person } from '../dataset/records.ts';
import type { Answer, EventsAnswer, ListAnswer, Redaction, Representation, Variant } from './answer.ts';
import { readAhead, readPage } from './batches.ts';
import { EVENT_COLUMNS, EVENT_FORMS } from './event-form.ts';
import { EventParts } from './event-run.ts';
import { LISTED_BOARD, LISTED_USER } from './fields.ts';
import { type Fragments, type Halves, renderFragments } from './fragments.ts';
import {
  type Frame,
  JSON_OBJECT,
  listFrame,
  measureFramed,
  measureRun,
  type Run,
  renderChunks,
} from './frame.ts';
import { ListRun, readListPage, renderListed } from './list-run.ts';
import { type Notation, renderNames } from './notation.ts';
import { redactPerson } from './redaction.ts';
import { Shelf } from './shelf.ts';
import { renderIdentity, type StandingKey, StandingRun } from './standing-run.ts';

export interface Rendering {
  /** Events of the query (contract 2.1). With a limit, `next` is the position of the last event delivered. */
  events(query: EventQuery, representation: Representation): Promise<EventsAnswer>;
  /** Boards, and users, of the query (contract 2.6, 2.7). With a limit, `next` is the last id delivered. */
  boards(query: ListQuery, variant: Variant, representation: Representation): Promise<ListAnswer>;
  users(query: ListQuery, variant: Variant, representation: Representation): Promise<ListAnswer>;
  /** A points map, always JSON (contract 2.8). */
  standings(query: StandingsQuery, keyedBy: StandingKey): Promise<Answer>;
  /** Makes what events in JSON need, so that the first request does not wait for it. */
  warm(): Promise<void>;
}

/** Redaction applies to everything that the rendering makes (decision 22). */
export function openRendering(dataset: Dataset, redaction: Redaction): Rendering {
  return new DatasetRendering(dataset, redaction);
}

/** An answer of at most so many events is held as columns and needs one query; a larger one is tallied first. */
const HELD_EVENTS = 2048;
const KEPT_SIZES = 256;

// What redaction does not touch, pins above all, is shared by the renderings of a dataset.
const shelves = new WeakMap<Dataset, Shelf<Fragments>>();

class DatasetRendering implements Rendering {
  readonly #dataset: Dataset;
  readonly #redaction: Redaction;
  readonly #shared: Shelf<Fragments>;
  readonly #people = new Shelf<Fragments>();
  readonly #parts = new Shelf<EventParts>();
  /** Sizes of large answers: the same exports are asked for again and again, and a size never changes. */
  readonly #sizes = new Shelf<number>(KEPT_SIZES);

  constructor(dataset: Dataset, redaction: Redaction) {
    this.#dataset = dataset;
    this.#redaction = redaction;
    this.#shared = shelves.get(dataset) ?? new Shelf();
    shelves.set(dataset, this.#shared);
  }

  async events(query: EventQuery, representation: Representation): Promise<EventsAnswer> {
    const [parts, page] = await Promise.all([
      this.#eventParts(notationOf(representation)),
      readPage(this.#dataset, query, query.limit ?? HELD_EVENTS),
    ]);
    const frame = listFrame(representation, EVENT_COLUMNS);
    if (query.limit !== undefined || page.next === undefined) {
      return heldAnswer(
        frame,
        page.batches.map((batch) => parts.run(batch)),
        page.next,
      );
    }
    const byteLength = await this.#sizes.take(questionOf(query, representation), async () => {
      const tally = await this.#dataset.tally(query);
      return measureFramed(frame, tally.events, parts.measure(tally));
    });
    return {
      byteLength,
      next: undefined,
      chunks: () => renderChunks(frame, this.#eventRuns(parts, query), byteLength),
    };
  }

  async boards(query: ListQuery, variant: Variant, representation: Representation): Promise<ListAnswer> {
    const fields = LISTED_BOARD[variant];
    const notation = notationOf(representation);
    const [items, page] = await Promise.all([
      this.#shared.take(`listed boards ${variant} ${notation}`, () =>
        renderFragments(this.#dataset.boards(), (board) => renderListed(notation, fields, board)),
      ),
      readListPage(
        query,
        (paged) => this.#dataset.listBoards(paged),
        () => this.#boardIdentities(),
      ),
    ]);
    return heldAnswer(
      listFrame(representation, renderNames(fields)),
      [new ListRun(items, page.indices)],
      page.next,
    );
  }

  async users(query: ListQuery, variant: Variant, representation: Representation): Promise<ListAnswer> {
    const fields = LISTED_USER[variant];
    const notation = notationOf(representation);
    const [items, page] = await Promise.all([
      this.#peopleFragments(`listed ${variant} ${notation}`, (user) => renderListed(notation, fields, user)),
      readListPage(
        query,
        (paged) => this.#dataset.listUsers(paged),
        () => this.#userIdentities(),
      ),
    ]);
    return heldAnswer(
      listFrame(representation, renderNames(fields)),
      [new ListRun(items, page.indices)],
      page.next,
    );
  }

  async standings(query: StandingsQuery, keyedBy: StandingKey): Promise<Answer> {
    const [users, boards, standings] = await Promise.all([
      this.#userIdentities(),
      this.#boardIdentities(),
      this.#dataset.standings(query),
    ]);
    return heldAnswer(JSON_OBJECT, [new StandingRun(standings, keyedBy, users, boards)], undefined);
  }

  async warm(): Promise<void> {
    await this.#eventParts('json');
  }

  #eventParts(notation: Notation): Promise<EventParts> {
    return this.#parts.take(notation, async () => {
      const form = EVENT_FORMS[notation];
      const organization = form.organization(this.#dataset.organization);
      const [people, boards, pins] = await Promise.all([
        this.#peopleFragments(`of events ${notation}`, form.person),
        this.#shared.take(`boards of events ${notation}`, () =>
          renderFragments(this.#dataset.boards(), form.board),
        ),
        this.#shared.take(`pins of events ${notation}`, () =>
          renderFragments(this.#dataset.pins(), (pin) => {
            const [head, tail = ''] = form.pin(pin);
            return [organization + head, tail];
          }),
        ),
      ]);
      return new EventParts(form, this.#dataset, { people, boards, pins });
    });
  }

  async *#eventRuns(parts: EventParts, query: EventQuery): AsyncGenerator<Run, void> {
    for await (const batch of readAhead(this.#dataset.events(query))) yield parts.run(batch);
  }

  #peopleFragments(name: string, render: (person: Person) => Halves): Promise<Fragments> {
    return this.#people.take(name, () =>
      renderFragments(this.#dataset.people(), (person) => render(redactPerson(person, this.#redaction))),
    );
  }

  #userIdentities(): Promise<Fragments> {
    return this.#peopleFragments('identities', renderIdentity);
  }

  #boardIdentities(): Promise<Fragments> {
    return this.#shared.take('identities', () => renderFragments(this.#dataset.boards(), renderIdentity));
  }
}

/** An answer whose items are at hand already: nothing is left to be read, or to be released. */
function heldAnswer<Next>(frame: Frame, runs: readonly Run[], next: Next | undefined): Answer<Next> {
  const items = runs.reduce((sum, run) => sum + run.count, 0);
  const itemBytes = runs.reduce((sum, run) => sum + measureRun(run), 0);
  const byteLength = measureFramed(frame, items, itemBytes);
  return { byteLength, next, chunks: () => renderChunks(frame, runs, byteLength) };
}

/** A short text that is the same only for the same question, however long its scope is. */
function questionOf(query: EventQuery, representation: Representation): string {
  const exact = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return hash('sha256', JSON.stringify([query, representation], exact), 'base64url');
}

function notationOf(representation: Representation): Notation {
  return representation === 'csv' ? 'csv' : 'json';
}
