/**
 * The fragments of one version under one redaction: made when first needed, and kept as long as the
 * version is in service. Those that redaction does not change, mainly pins, are shared by all
 * caches of a dataset.
 */
import type { Dataset } from '../../dataset/dataset.ts';
import type { ListKind } from '../../dataset/query.ts';
import { joinRecords, type RecordColumns, type RecordTable } from '../../dataset/records.ts';
import { AsyncMemo } from '../../system/async-memo.ts';
import { LIST_FIELDS, organizationColumns } from '../text/fields.ts';
import { type FragmentMemory, openFragmentMemory } from '../text/fragment-memory.ts';
import { type Fragments, type Halves, renderFragments } from '../text/fragments.ts';
import type { Notation } from '../text/notation.ts';
import type { Variant } from '../text/rendered-body.ts';
import { EVENT_FORMS } from './event-form.ts';
import { type EventParts, makeEventParts } from './event-writer.ts';
import { renderListed } from './list-writer.ts';
import { renderIdentity } from './points-writer.ts';

/** Columns and fragments of the records of one table. */
class RecordCache<T extends RecordTable> {
  readonly #table: T;
  readonly #dataset: Dataset;
  readonly #columns = new AsyncMemo<RecordColumns<T>>();
  readonly #fragments = new AsyncMemo<Fragments>();

  constructor(table: T, dataset: Dataset) {
    this.#table = table;
    this.#dataset = dataset;
  }

  columns(): Promise<RecordColumns<T>> {
    return this.#columns.take(this.#table, () =>
      joinRecords(this.#table, this.#dataset.records(this.#table)),
    );
  }

  fragments(
    name: string,
    render: (records: RecordColumns<T>, index: number) => Halves,
    memory?: FragmentMemory,
  ): Promise<Fragments> {
    return this.#fragments.take(name, () =>
      renderFragments(this.#dataset.records(this.#table), render, memory),
    );
  }
}

type RecordCaches<T extends RecordTable> = { readonly [Table in T]: RecordCache<Table> };

/**
 * The state that all caches of a dataset share, and the memory for all fragments of which events
 * are composed.
 */
interface SharedCaches extends RecordCaches<'boards' | 'pins'> {
  readonly memory: FragmentMemory | undefined;
}

const shared = new WeakMap<Dataset, SharedCaches>();

function sharedOf(dataset: Dataset): SharedCaches {
  const known = shared.get(dataset);
  if (known !== undefined) return known;
  const { users, boards, pins } = dataset.counts;
  const made = {
    boards: new RecordCache('boards', dataset),
    pins: new RecordCache('pins', dataset),
    memory: openFragmentMemory(users + boards + pins),
  };
  shared.set(dataset, made);
  return made;
}

export class FragmentCache {
  readonly #dataset: Dataset;
  readonly #records: RecordCaches<RecordTable>;
  readonly #memory: FragmentMemory | undefined;
  readonly #parts = new AsyncMemo<EventParts>();
  /**
   * Everything requested so far, by name, so that the cache of the next version can be filled with
   * the same.
   */
  readonly #wanted = new Map<string, (cache: FragmentCache) => Promise<unknown>>();

  /**
   * `seen` is `dataset` after redaction. Fragments that redaction does not change are made from
   * `dataset` and shared by all redactions.
   */
  constructor(dataset: Dataset, seen: Dataset) {
    this.#dataset = dataset;
    const { memory, ...records } = sharedOf(dataset);
    this.#records = { ...records, users: new RecordCache('users', seen) };
    this.#memory = memory;
  }

  /** Makes everything that was requested from `other`. */
  async fillLike(other: FragmentCache): Promise<void> {
    for (const make of other.#wanted.values()) await make(this);
  }

  /** The parts of events in one notation. */
  eventParts(notation: Notation): Promise<EventParts> {
    this.#wanted.set(`events ${notation}`, (cache) => cache.eventParts(notation));
    return this.#parts.take(notation, async () => {
      const name = `of events ${notation}`;
      const memory = this.#memory;
      const form = EVENT_FORMS[notation];
      const organization = form.organization(organizationColumns(this.#dataset.organization));
      const pin = (...record: Parameters<typeof form.pin>): Halves => {
        const [head, tail] = form.pin(...record);
        return [organization + head, tail];
      };
      const [people, boards, pins] = await Promise.all([
        this.#records.users.fragments(name, form.user, memory),
        this.#records.boards.fragments(name, form.board, memory),
        this.#records.pins.fragments(name, pin, memory),
      ]);
      return makeEventParts(form, this.#dataset, { people, boards, pins }, memory);
    });
  }

  /** Items of a list (contract 2.6, 2.7). */
  listed(of: ListKind, variant: Variant, notation: Notation): Promise<Fragments> {
    const name = `listed ${variant} ${notation}`;
    this.#wanted.set(`${of} ${name}`, (cache) => cache.listed(of, variant, notation));
    const fields: readonly string[] = LIST_FIELDS[of][variant];
    return this.#records[of].fragments(name, (...item) => renderListed(notation, fields, ...item));
  }

  /** Ids and e-mail addresses, as points maps require them. */
  identities(of: ListKind): Promise<Fragments> {
    this.#wanted.set(`${of} identities`, (cache) => cache.identities(of));
    return this.#records[of].fragments('identities', renderIdentity);
  }

  /** Records by index, for responses that are not made of fragments. */
  records<T extends RecordTable>(of: T): Promise<RecordColumns<T>> {
    return this.#records[of].columns();
  }
}
