/** Counts events and their actors by period, in parts that can be combined. */
import type { EventView } from '../dataset/event-rows.ts';
import { inSlices } from '../system/time-slice.ts';
import type { Counter, RunningCount } from './counter.ts';
import type { GroupOf, Groups } from './groups.ts';
import { IndexSet } from './index-set.ts';
import { type Interval, Periods } from './periods.ts';
import { type GroupCounts, SeriesCounts } from './series.ts';

interface PeriodsInput {
  readonly interval: Interval;
  readonly zone: string;
  /** Actors of earlier events are known, but these events are in no period. */
  readonly fromMs: number;
  readonly users: number;
  readonly wanted: Uint8Array;
  readonly column: Groups['column'];
  readonly groupOf: GroupOf;
  readonly groups: number;
  /** Whether to count the actors of each group; only for groups of actors. */
  readonly countsActors: boolean;
}

/** Periods extend from the first event from `fromMs` on to the last one. */
export interface PeriodsPart {
  readonly startsMs: readonly number[];
  /** By period: its actors, and those of them who have no earlier event in this part. */
  readonly people: readonly number[];
  readonly newcomers: readonly number[];
  /** All actors of the part, in the order of their first events. */
  readonly known: Int32Array;
  /** The number of them whose first event is before `fromMs`. */
  readonly knownBefore: number;
  /** The actors of the first period, and of the last one. */
  readonly firstPeople: Int32Array;
  readonly lastPeople: Int32Array;
  readonly counts: GroupCounts;
  /** The actors by group; absent if they are not counted. */
  readonly actorCounts: GroupCounts | undefined;
}

export const PERIODS: Counter<PeriodsInput, PeriodsPart> = {
  name: 'periods',
  start: (input) => new PeriodsCounting(input),
};

class PeriodsCounting implements RunningCount<PeriodsPart> {
  readonly #input: PeriodsInput;
  readonly #periods: Periods;
  readonly #series: SeriesCounts;
  readonly #actorsOf: SeriesCounts | undefined;
  /** The current period; -1 before the first one. */
  #period = -1;
  #endMs = Number.NEGATIVE_INFINITY;
  readonly #people: number[] = [];
  readonly #newcomers: number[] = [];
  /** The actors of the current period. */
  readonly #actors: IndexSet;
  /** The same, in the order of their first events in it. */
  readonly #met: Int32Array;
  #firstPeople: Int32Array | undefined;
  readonly #isKnown: IndexSet;
  readonly #known: Int32Array;
  #knownCount = 0;
  #knownBefore = 0;

  constructor(input: PeriodsInput) {
    const { interval, zone, users, groups, countsActors } = input;
    this.#input = input;
    this.#periods = new Periods(interval, zone);
    this.#series = new SeriesCounts(groups);
    this.#actorsOf = countsActors ? new SeriesCounts(groups) : undefined;
    this.#actors = new IndexSet(users);
    this.#met = new Int32Array(users);
    this.#isKnown = new IndexSet(users);
    this.#known = new Int32Array(users);
  }

  async see(view: EventView): Promise<void> {
    await this.#reachAll(view);
    const from = this.#seeBefore(view);
    const { wanted, column, groupOf } = this.#input;
    const [series, actors] = [this.#series, this.#actors];
    const { count, stride, kindStride, instantStride, kind, actor, timestampMs, [column]: values } = view;
    const valueStride = column === 'kind' ? kindStride : stride;
    for (let row = from; row < count; row++) {
      if (wanted[kind[row * kindStride]!] === 0) continue;
      const ms = timestampMs[row * instantStride]!;
      if (ms >= this.#endMs) this.#enter(ms);
      series.add(groupOf[values[row * valueStride]!]!);
      const person = actor[row * stride]!;
      if (actors.add(person)) this.#meet(person);
    }
    series.refuseTooMany(this.#periods.startsMs.length);
  }

  end(): PeriodsPart {
    const last = this.#leave();
    return {
      ...{ startsMs: this.#periods.startsMs, people: this.#people, newcomers: this.#newcomers },
      known: this.#known.slice(0, this.#knownCount),
      ...{ knownBefore: this.#knownBefore, firstPeople: this.#firstPeople ?? last, lastPeople: last },
      ...{ counts: this.#series.counts, actorCounts: this.#actorsOf?.counts },
    };
  }

  /** Adds the periods of those events that count and are not before `fromMs`. */
  async #reachAll({ count, kindStride, instantStride, kind, timestampMs }: EventView): Promise<void> {
    const { wanted, fromMs } = this.#input;
    const msAt = (row: number) => timestampMs[row * instantStride]!;
    let last = count - 1;
    while (last >= 0 && wanted[kind[last * kindStride]!] === 0) last -= 1;
    if (last < 0 || msAt(last) < Math.max(fromMs, this.#periods.endMs)) return;
    let first = 0;
    while (wanted[kind[first * kindStride]!] === 0 || msAt(first) < fromMs) first += 1;
    await this.#periods.reach(msAt(first));
    await this.#periods.reach(msAt(last));
    while (this.#people.length < this.#periods.startsMs.length) {
      this.#people.push(0);
      this.#newcomers.push(0);
    }
  }

  /** Notes the actors of the events before `fromMs`. Returns the number of these events. */
  #seeBefore({ count, stride, kindStride, instantStride, kind, actor, timestampMs }: EventView): number {
    const { wanted, fromMs } = this.#input;
    let row = 0;
    for (; row < count && timestampMs[row * instantStride]! < fromMs; row++) {
      if (wanted[kind[row * kindStride]!] === 1 && this.#isNew(actor[row * stride]!)) this.#knownBefore += 1;
    }
    return row;
  }

  #enter(ms: number): void {
    const people = this.#leave();
    if (this.#period >= 0) this.#firstPeople ??= people;
    this.#period = this.#periods.placeOf(ms, this.#period);
    this.#endMs = this.#periods.endOf(this.#period);
  }

  /** Ends the current period and returns its actors. */
  #leave(): Int32Array {
    this.#series.leave(this.#period);
    this.#actorsOf?.leave(this.#period);
    const people = this.#met.slice(0, this.#people[this.#period] ?? 0);
    for (const person of people) this.#actors.remove(person);
    return people;
  }

  /** Counts somebody who has not acted in the current period before. */
  #meet(person: number): void {
    const period = this.#period;
    this.#met[this.#people[period]!] = person;
    this.#people[period]! += 1;
    this.#actorsOf?.add(this.#input.groupOf[person]!);
    if (this.#isNew(person)) this.#newcomers[period]! += 1;
  }

  #isNew(person: number): boolean {
    if (!this.#isKnown.add(person)) return false;
    this.#known[this.#knownCount++] = person;
    return true;
  }
}

/** Combines parts in their order. `add` them, then read the counts. */
export class PeriodTotals {
  readonly series: SeriesCounts;
  /** The actors by group; absent if they are not counted. */
  readonly actorsOf: SeriesCounts | undefined;
  readonly people: number[] = [];
  readonly newcomers: number[] = [];
  readonly #periods: Periods;
  readonly #groupOf: GroupOf;
  readonly #isKnown: Uint8Array;
  /** The last period with events, and its actors as flags. */
  #last = { period: -1, isActor: new Uint8Array(0) };

  /** Adds the periods of the parts to `periods`. */
  constructor(
    periods: Periods,
    users: number,
    { groups, groupOf, countsActors }: Pick<PeriodsInput, 'groups' | 'groupOf' | 'countsActors'>,
  ) {
    this.#periods = periods;
    this.#groupOf = groupOf;
    this.#isKnown = new Uint8Array(users);
    this.series = new SeriesCounts(groups);
    this.actorsOf = countsActors ? new SeriesCounts(groups) : undefined;
  }

  async add(part: PeriodsPart): Promise<void> {
    const { startsMs, counts, actorCounts } = part;
    if (startsMs.length > 0) {
      await this.#periods.reach(startsMs[0]!);
      await this.#periods.reach(startsMs.at(-1)!);
    }
    this.lengthen();
    const from = startsMs.length > 0 ? this.#periods.placeOf(startsMs[0]!, 0) : 0;
    for (const [at, people] of part.people.entries()) this.people[from + at]! += people;
    for (const [at, people] of part.newcomers.entries()) this.newcomers[from + at]! += people;
    await this.series.addAll(counts, from);
    if (actorCounts !== undefined) await this.actorsOf?.addAll(actorCounts, from);
    this.series.refuseTooMany(this.#periods.startsMs.length);
    await this.#addKnown(part, from);
    await this.#addPeople(part, from);
  }

  /** Adds counts of 0 until there is one for each period. */
  lengthen(): void {
    while (this.people.length < this.#periods.startsMs.length) {
      this.people.push(0);
      this.newcomers.push(0);
    }
  }

  /** Those who were known from earlier parts are not newcomers. */
  async #addKnown({ known, knownBefore, newcomers }: PeriodsPart, from: number): Promise<void> {
    let period = -1;
    let left = knownBefore;
    await inSlices(0, known.length, (first, end) => {
      for (let at = first; at < end; at++, left--) {
        while (left === 0) {
          period += 1;
          left = newcomers[period]!;
        }
        const person = known[at]!;
        if (this.#isKnown[person] === 1 && period >= 0) this.newcomers[from + period]! -= 1;
        this.#isKnown[person] = 1;
      }
    });
  }

  /** An actor of a period that two parts share is counted once. */
  async #addPeople({ startsMs, firstPeople, lastPeople }: PeriodsPart, from: number): Promise<void> {
    if (startsMs.length === 0) return;
    const { period, isActor } = this.#last;
    if (period === from) {
      await inSlices(0, firstPeople.length, (first, end) => {
        for (let at = first; at < end; at++) {
          const person = firstPeople[at]!;
          if (isActor[person] === 0) continue;
          this.people[from]! -= 1;
          this.actorsOf?.takeBack(from, this.#groupOf[person]!);
        }
      });
    }
    const last = from + startsMs.length - 1;
    if (period !== last) this.#last = { period: last, isActor: new Uint8Array(this.#isKnown.length) };
    await inSlices(0, lastPeople.length, (first, end) => {
      for (let at = first; at < end; at++) this.#last.isActor[lastPeople[at]!] = 1;
    });
  }
}
