/**
 * The ready-made bytes of one version under one redaction: made when they are first needed, kept as long as the version
 * is in service. What redaction does not touch, pins above all, is shared by all stocks of a dataset.
 */
import type { Dataset } from '../dataset/dataset.ts';
import type { Person } from '../dataset/records.ts';
import { escapeLineEnds } from '../json-text.ts';
import { Shelf } from '../shelf.ts';
import type { Variant } from './answer.ts';
import { EVENT_FORMS } from './event-form.ts';
import { type EventParts, makeEventParts } from './event-run.ts';
import { LISTED_BOARD, LISTED_USER } from './fields.ts';
import { type FragmentMemory, openFragmentMemory } from './fragment-memory.ts';
import { type Fragments, type Halves, renderFragments } from './fragments.ts';
import { renderListed } from './list-run.ts';
import type { Notation } from './notation.ts';
import { renderIdentity } from './standing-run.ts';

/** What all stocks of a dataset share, and where all fragments lie that events are put together from. */
interface Shared {
  readonly shelf: Shelf<Fragments>;
  readonly memory: FragmentMemory | undefined;
}

const shared = new WeakMap<Dataset, Shared>();

function sharedOf(dataset: Dataset): Shared {
  const known = shared.get(dataset);
  if (known !== undefined) return known;
  const { users, boards, pins } = dataset.counts;
  const made = { shelf: new Shelf<Fragments>(), memory: openFragmentMemory(users + boards + pins) };
  shared.set(dataset, made);
  return made;
}

export class FragmentStock {
  readonly #dataset: Dataset;
  readonly #seen: Dataset;
  readonly #shared: Shelf<Fragments>;
  readonly #memory: FragmentMemory | undefined;
  readonly #people = new Shelf<Fragments>();
  readonly #parts = new Shelf<EventParts>();
  /** What was asked for, by name, so that the stock of the next version can be filled alike. */
  readonly #wanted = new Map<string, (stock: FragmentStock) => Promise<unknown>>();

  /**
   * `seen` is the dataset as it was redacted; what redaction does not touch is shared by all that
   * see it.
   */
  constructor(dataset: Dataset, seen: Dataset) {
    this.#dataset = dataset;
    this.#seen = seen;
    const { shelf, memory } = sharedOf(dataset);
    this.#shared = shelf;
    this.#memory = memory;
  }

  /** Makes everything that was asked of the other one. */
  async fillLike(other: FragmentStock): Promise<void> {
    for (const make of other.#wanted.values()) await make(this);
  }

  /** Events in one notation. */
  eventParts(notation: Notation): Promise<EventParts> {
    this.#wanted.set(`events ${notation}`, (stock) => stock.eventParts(notation));
    return this.#parts.take(notation, async () => {
      const form = EVENT_FORMS[notation];
      const organization = form.organization(this.#dataset.organization);
      const [people, boards, pins] = await Promise.all([
        this.#takePeople(`of events ${notation}`, form.person, this.#memory),
        this.#shared.take(`boards of events ${notation}`, () =>
          renderFragments(this.#dataset.boards(), form.board, this.#memory),
        ),
        this.#shared.take(`pins of events ${notation}`, () =>
          renderFragments(
            this.#dataset.pins(),
            (pin) => {
              const [head, tail = ''] = form.pin(pin);
              return [organization + head, tail];
            },
            this.#memory,
          ),
        ),
      ]);
      return makeEventParts(form, this.#dataset, { people, boards, pins }, this.#memory);
    });
  }

  /** Items of the list of boards (contract 2.6), and of users (contract 2.7). */
  listedBoards(variant: Variant, notation: Notation): Promise<Fragments> {
    const name = `listed boards ${variant} ${notation}`;
    this.#wanted.set(name, (stock) => stock.listedBoards(variant, notation));
    return this.#shared.take(name, () =>
      renderFragments(this.#dataset.boards(), (board) =>
        renderListed(notation, LISTED_BOARD[variant], board),
      ),
    );
  }

  listedUsers(variant: Variant, notation: Notation): Promise<Fragments> {
    const name = `listed users ${variant} ${notation}`;
    this.#wanted.set(name, (stock) => stock.listedUsers(variant, notation));
    return this.#takePeople(name, (user) => renderListed(notation, LISTED_USER[variant], user));
  }

  /** Pins without their text, which is not needed to name them. */
  listedPins(): Promise<Fragments> {
    this.#wanted.set('listed pins', (stock) => stock.listedPins());
    return this.#shared.take('listed pins', () =>
      renderFragments(this.#dataset.pins(), ({ id, title, webUrl, tags }) => [
        `{"id":${id},${escapeLineEnds(JSON.stringify({ title, web_url: webUrl, tags })).slice(1)}`,
      ]),
    );
  }

  /** Ids and e-mail addresses as points maps and cursors need them. */
  userIdentities(): Promise<Fragments> {
    this.#wanted.set('users', (stock) => stock.userIdentities());
    return this.#takePeople('identities', renderIdentity);
  }

  boardIdentities(): Promise<Fragments> {
    this.#wanted.set('boards', (stock) => stock.boardIdentities());
    return this.#shared.take('identities', () => renderFragments(this.#dataset.boards(), renderIdentity));
  }

  #takePeople(name: string, render: (person: Person) => Halves, memory?: FragmentMemory): Promise<Fragments> {
    return this.#people.take(name, () => renderFragments(this.#seen.people(), render, memory));
  }
}
