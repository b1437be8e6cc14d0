/**
 * The fragments of one version under one redaction: made when first needed, and kept as long as the
 * version is in service. Those that redaction does not change, mainly pins, are shared by all
 * caches of a dataset.
 */
import type { Dataset } from '../../dataset/dataset.ts';
import type { ImagePlace } from '../../dataset/image.ts';
import type { EventBatch, ListKind, Standings } from '../../dataset/query.ts';
import {
  areSameOrganization,
  joinRecords,
  type RecordColumns,
  type RecordTable,
} from '../../dataset/records.ts';
import { AsyncMemo } from '../../system/async-memo.ts';
import { LIST_FIELDS, organizationColumns } from '../text/fields.ts';
import { type FragmentMemory, openFragmentMemory } from '../text/fragment-memory.ts';
import { type Fragments, growFragments, type Halves, renderFragments } from '../text/fragments.ts';
import type { RowWriter } from '../text/frame.ts';
import type { Notation } from '../text/notation.ts';
import type { Variant } from '../text/rendered-body.ts';
import { EVENT_FORMS, type EventForm } from './event-form.ts';
import { type EventParts, makeEventParts } from './event-writer.ts';
import { areFew, type NumberedFragments, Occurring, renumberEvents } from './few-records.ts';
import { imageOfFragments, readKeptFragments } from './kept-fragments.ts';
import { renderListed } from './list-writer.ts';
import { PointsRowWriter, pointsPartOf } from './points-row-writer.ts';
import { renderIdentity } from './points-writer.ts';

/** From this number of small responses on, the fragments of all records are made meanwhile. */
const FEW_RESPONSES = 4;
/** Fragments of more records are made from the first response on: they take more than 100 ms. */
const FEW_TO_RENDER = 32_768;
/** By how much the memory of fragments may grow, in parts of it and beyond that, in bytes. */
const GROWTH_SHARE = 1 / 4;
const GROWTH_BYTES = 4 * 1024 * 1024;
/** With more blocks, fragments are rendered again. */
const MOST_BLOCKS = 64;
/** Actor, owner, board and pin. */
const RECORDS_OF_EVENT = 4;

type RenderRecord = (records: RecordColumns<ListKind>, index: number) => Halves;

/** Columns and fragments of the records of one table. */
class RecordCache<T extends RecordTable> {
  readonly #table: T;
  readonly #dataset: Dataset;
  readonly #columns = new AsyncMemo<RecordColumns<T>>();
  readonly #fragments = new AsyncMemo<Fragments>();
  /** Fragments that are made, by name. */
  readonly #made = new Map<string, Fragments>();
  /** Those of the version from which this one was made, until they are used. */
  readonly #earlier: Map<string, Fragments>;

  /** `earlier`: of the version from which the dataset was made. */
  constructor(table: T, dataset: Dataset, earlier?: RecordCache<T>) {
    this.#table = table;
    this.#dataset = dataset;
    this.#earlier = new Map(earlier === undefined ? [] : earlier.#made);
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
    kept?: Fragments,
  ): Promise<Fragments> {
    return this.#fragments.take(name, async () => {
      const made = kept ?? (await this.#make(name, render, memory));
      this.#made.set(name, made);
      return made;
    });
  }

  async #make(
    name: string,
    render: (records: RecordColumns<T>, index: number) => Halves,
    memory: FragmentMemory | undefined,
  ): Promise<Fragments> {
    const earlier = this.#earlier.get(name);
    this.#earlier.delete(name);
    // If that fails, rendering all of them reports the reason.
    const grown = earlier && (await this.#grow(earlier, render, memory).catch(() => undefined));
    return grown ?? (await renderFragments(this.#dataset.records(this.#table), render, memory));
  }

  async #grow(
    earlier: Fragments,
    render: (records: RecordColumns<T>, index: number) => Halves,
    memory: FragmentMemory | undefined,
  ): Promise<Fragments | undefined> {
    const { origin, counts } = this.#dataset;
    const changed = origin?.records[this.#table];
    if (changed === undefined || earlier.blocks.length > MOST_BLOCKS) return undefined;
    if (changed.length === 0 && earlier.count === counts[this.#table]) return earlier;
    // Not kept, because a redacted dataset makes them each time.
    const records = await joinRecords(this.#table, this.#dataset.records(this.#table));
    const change = { indices: changed, count: counts[this.#table] };
    return await growFragments(earlier, change, (index) => render(records, index), memory);
  }
}

type RecordCaches<T extends RecordTable> = { readonly [Table in T]: RecordCache<Table> };

/**
 * The state that all caches of a dataset share, and the memory for all fragments of which events
 * are composed.
 */
interface SharedCaches extends RecordCaches<'boards' | 'pins'> {
  readonly memory: FragmentMemory | undefined;
  /** The version whose caches these were made from, if any. */
  readonly origin: string | undefined;
  /** The bytes taken from the memory before fragments of a later version were placed in it. */
  readonly firstBytes: number | undefined;
}

const shared = new WeakMap<Dataset, SharedCaches>();

function sharedOf(dataset: Dataset, earlier: Dataset | undefined): SharedCaches {
  const known = shared.get(dataset);
  if (known !== undefined) return known;
  const made = (earlier && grownFrom(dataset, earlier)) ?? openCaches(dataset);
  shared.set(dataset, made);
  return made;
}

function openCaches(dataset: Dataset): SharedCaches {
  const { users, boards, pins } = dataset.counts;
  return {
    boards: new RecordCache('boards', dataset),
    pins: new RecordCache('pins', dataset),
    memory: openFragmentMemory(users + boards + pins),
    ...{ origin: undefined, firstBytes: undefined },
  };
}

/**
 * Caches in the memory of those of an earlier version. Undefined if the dataset was not made from
 * it, or if too much of the memory is for fragments that have been replaced.
 */
function grownFrom(dataset: Dataset, earlier: Dataset): SharedCaches | undefined {
  const before = shared.get(earlier);
  // The organization is part of fragments.
  const isSame = areSameOrganization(dataset.organization, earlier.organization);
  if (dataset.origin?.version !== earlier.version || before === undefined || !isSame) return undefined;
  const { memory } = before;
  const takenBytes = memory?.takenBytes ?? 0;
  const firstBytes = before.firstBytes ?? takenBytes;
  if (takenBytes > (1 + GROWTH_SHARE) * firstBytes + GROWTH_BYTES) return undefined;
  return {
    boards: new RecordCache('boards', dataset, before.boards),
    pins: new RecordCache('pins', dataset, before.pins),
    ...{ memory, origin: earlier.version, firstBytes },
  };
}

export class FragmentCache {
  readonly #dataset: Dataset;
  readonly #records: RecordCaches<RecordTable>;
  readonly #memory: FragmentMemory | undefined;
  readonly #parts = new AsyncMemo<EventParts>();
  /** Names of the fragments that are made. */
  readonly #ready = new Set<string>();
  /** By name: the number of responses for which only a few records were rendered. */
  readonly #few = new Map<string, number>();
  /** Whether records are in memory as they are rendered, so that a few of them are read at once. */
  readonly #hasRecords: boolean;
  /**
   * All fragments made so far, by name, so that the cache of the next version can be filled with
   * the same.
   */
  readonly #wanted = new Map<string, (cache: FragmentCache) => Promise<unknown>>();

  /**
   * `seen` is `dataset` after redaction. Fragments that redaction does not change are made from
   * `dataset` and shared by all redactions. `earlier`: the cache of an earlier version under the
   * same redaction, from which fragments are taken that have not changed.
   */
  constructor(dataset: Dataset, seen: Dataset, earlier?: FragmentCache) {
    this.#dataset = dataset;
    this.#hasRecords = dataset.timeline !== undefined && seen === dataset;
    const { memory, boards, pins, origin } = sharedOf(
      dataset,
      earlier === undefined ? undefined : earlier.#dataset,
    );
    const isGrown = earlier !== undefined && origin === earlier.#dataset.version;
    const users = new RecordCache('users', seen, isGrown ? earlier.#records.users : undefined);
    this.#records = { boards, pins, users };
    this.#memory = memory;
  }

  /** Makes everything that was requested from `other`. */
  async fillLike(other: FragmentCache): Promise<void> {
    for (const make of other.#wanted.values()) await make(this);
  }

  /** The parts of events in one notation. */
  eventParts(notation: Notation): Promise<EventParts> {
    const name = `events ${notation}`;
    this.#wanted.set(name, (cache) => cache.eventParts(notation));
    return this.#parts.take(notation, async () => {
      const memory = this.#memory;
      const form = this.#formOf(notation);
      const place = this.#placeFor(notation);
      const kept = place && memory && (await readKeptFragments(place, memory));
      const [people, boards, pins] = await Promise.all([
        this.#records.users.fragments(name, form.user, memory, kept?.users),
        this.#records.boards.fragments(name, form.board, memory, kept?.boards),
        this.#records.pins.fragments(name, form.pin, memory, kept?.pins),
      ]);
      if (kept === undefined && memory !== undefined) {
        const image = imageOfFragments({ users: people, boards, pins }, memory);
        if (image !== undefined) await place?.write(image);
      }
      const parts = makeEventParts(form, this.#dataset, { people, boards, pins }, memory);
      this.#ready.add(name);
      return parts;
    });
  }

  /** Where fragments in a notation are kept: only those that most responses need. */
  #placeFor(notation: Notation): ImagePlace | undefined {
    return notation === 'json' && this.#hasRecords ? this.#dataset.fragmentImage : undefined;
  }

  /** The rows of a small response. */
  async eventRows(notation: Notation, batches: readonly EventBatch[]): Promise<RowWriter[]> {
    const { users, boards, pins } = this.#dataset.counts;
    const events = batches.reduce((sum, { count }) => sum + count, 0);
    const make = () => this.eventParts(notation);
    if (!this.#isForFew(`events ${notation}`, make, RECORDS_OF_EVENT * events, users + boards + pins)) {
      const parts = await make();
      return batches.map((batch) => parts.run(batch));
    }
    const few = {
      users: new Occurring(await this.records('users')),
      boards: new Occurring(await this.records('boards')),
      pins: new Occurring(await this.records('pins')),
    };
    const renumbered = renumberEvents(batches, few);
    const form = this.#formOf(notation);
    const fragments = {
      people: await few.users.render(form.user),
      boards: await few.boards.render(form.board),
      pins: await few.pins.render(form.pin),
    };
    const parts = makeEventParts(form, this.#dataset, fragments, undefined);
    return renumbered.map((batch) => parts.run(batch));
  }

  /** The organization is part of the head of every pin. */
  #formOf(notation: Notation): EventForm {
    const form = EVENT_FORMS[notation];
    const organization = form.organization(organizationColumns(this.#dataset.organization));
    const pin = (...record: Parameters<typeof form.pin>): Halves => {
      const [head, tail] = form.pin(...record);
      return [organization + head, tail];
    };
    return { ...form, pin };
  }

  /** Items of a list (contract 2.6, 2.7). */
  async listed(
    of: ListKind,
    variant: Variant,
    notation: Notation,
    indices: Int32Array,
  ): Promise<NumberedFragments> {
    const fields: readonly string[] = LIST_FIELDS[of][variant];
    const render = (...item: Parameters<RenderRecord>) => renderListed(notation, fields, ...item);
    return await this.#numbered(of, `listed ${variant} ${notation}`, render, indices);
  }

  /** Ids and e-mail addresses, as points maps require them. */
  async identities(of: ListKind, indices: Int32Array): Promise<NumberedFragments> {
    return await this.#numbered(of, 'identities', renderIdentity, indices);
  }

  /** The rows of points totals (decision 93) in a small response. */
  async pointsRows(notation: Notation, batches: readonly Standings[]): Promise<RowWriter[]> {
    const numbered = (of: ListKind, lists: readonly Int32Array[]) =>
      this.#numberedLists(of, `points ${notation}`, pointsPartOf(of, notation), lists);
    const [users, boards] = await Promise.all([
      numbered(
        'users',
        batches.map(({ user }) => user),
      ),
      numbered(
        'boards',
        batches.map(({ board }) => board),
      ),
    ]);
    return batches.map((batch, at) => {
      const standings = { ...batch, user: users.lists[at]!, board: boards.lists[at]! };
      return new PointsRowWriter(notation, standings, users.fragments, boards.fragments);
    });
  }

  /** Makes the rows of points totals in a large response. */
  async pointsWriter(notation: Notation): Promise<(standings: Standings) => RowWriter> {
    const title = `points ${notation}`;
    const [users, boards] = await Promise.all([
      this.#makeListed('users', title, pointsPartOf('users', notation)),
      this.#makeListed('boards', title, pointsPartOf('boards', notation)),
    ]);
    return (standings) => new PointsRowWriter(notation, standings, users, boards);
  }

  async #numbered(
    of: ListKind,
    title: string,
    render: RenderRecord,
    indices: Int32Array,
  ): Promise<NumberedFragments> {
    const { fragments, lists } = await this.#numberedLists(of, title, render, [indices]);
    return { fragments, numbers: lists[0]! };
  }

  /** `lists`: the indices in the batches of one response. */
  async #numberedLists(
    of: ListKind,
    title: string,
    render: RenderRecord,
    lists: readonly Int32Array[],
  ): Promise<{ readonly fragments: Fragments; readonly lists: readonly Int32Array[] }> {
    const make = () => this.#makeListed(of, title, render);
    const occurring = lists.reduce((sum, { length }) => sum + length, 0);
    if (!this.#isForFew(`${of} ${title}`, make, occurring, this.#dataset.counts[of])) {
      return { fragments: await make(), lists };
    }
    const few = new Occurring<ListKind>(await this.records(of));
    const numbers = lists.map((indices) => few.renumber(indices));
    return { fragments: await few.render(render), lists: numbers };
  }

  /** The fragments of all records of a list. */
  #makeListed(of: ListKind, title: string, render: RenderRecord): Promise<Fragments> {
    const name = `${of} ${title}`;
    const makeAll = async (cache: FragmentCache) => {
      const fragments = await cache.#records[of].fragments(title, render);
      cache.#ready.add(name);
      return fragments;
    };
    this.#wanted.set(name, makeAll);
    return makeAll(this);
  }

  /**
   * Whether a response is made of few records because the fragments are not ready. After some such
   * responses, or at once if there are many records, the fragments of all records are made
   * meanwhile, with `make`.
   */
  #isForFew(name: string, make: () => Promise<unknown>, occurring: number, records: number): boolean {
    if (this.#ready.has(name) || !this.#hasRecords || !areFew(occurring, records)) return false;
    const responses = 1 + (this.#few.get(name) ?? 0);
    this.#few.set(name, responses);
    // A response that needs all fragments reports a failure, so this need not.
    if (responses >= FEW_RESPONSES || records > FEW_TO_RENDER) make().catch(() => undefined);
    return true;
  }

  /** Records by index, for responses that are not made of fragments. */
  records<T extends RecordTable>(of: T): Promise<RecordColumns<T>> {
    return this.#records[of].columns();
  }
}
