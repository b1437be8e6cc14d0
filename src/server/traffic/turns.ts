/**
 * Decides whose request may query the store next, for data that is not in memory. The store runs a
 * few queries at once, and a request must not wait for all those of a different organization
 * (decision 60).
 */
import type { KeyEntry } from '../../keys/keyring.ts';
import type { Limits } from '../limits/limits.ts';
import { Tally } from '../limits/quota.ts';

type TurnHolder = Pick<KeyEntry, 'id' | 'organization'>;

interface Waiter {
  readonly holder: TurnHolder;
  readonly begin: () => void;
}

export class Turns {
  readonly #limits: Pick<Limits, 'queries' | 'queries-per-organization'>;
  readonly #byKey = new Tally();
  readonly #byOrganization = new Tally();
  readonly #waiting: Waiter[] = [];
  underWay = 0;

  constructor(limits: Pick<Limits, 'queries' | 'queries-per-organization'>) {
    this.#limits = limits;
  }

  /**
   * Resolves when the holder has a turn, with the function that ends it. That function must be
   * called once.
   */
  async take(holder: TurnHolder): Promise<() => void> {
    if (this.#hasRoom(holder)) this.#begin(holder);
    else await new Promise<void>((begin) => this.#waiting.push({ holder, begin }));
    return () => this.#end(holder);
  }

  /** Does the work in one turn. */
  async run<T>(holder: TurnHolder, work: () => Promise<T>): Promise<T> {
    const end = await this.take(holder);
    try {
      return await work();
    } finally {
      end();
    }
  }

  #hasRoom({ organization }: TurnHolder): boolean {
    const { queries, 'queries-per-organization': most } = this.#limits;
    return this.underWay < queries && this.#byOrganization.of(organization) < most;
  }

  #begin({ id, organization }: TurnHolder): void {
    this.underWay += 1;
    this.#byKey.change(id, 1);
    this.#byOrganization.change(organization, 1);
  }

  #end({ id, organization }: TurnHolder): void {
    this.underWay -= 1;
    this.#byKey.change(id, -1);
    this.#byOrganization.change(organization, -1);
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) {
      this.#begin(next.holder);
      next.begin();
    }
  }

  /**
   * The waiter whose organization, and then whose key, has the fewest turns; among several the
   * oldest.
   */
  #takeNext(): Waiter | undefined {
    let least = Number.POSITIVE_INFINITY;
    let place = -1;
    for (const [index, { holder }] of this.#waiting.entries()) {
      if (!this.#hasRoom(holder)) continue;
      const turns = this.#byOrganization.of(holder.organization) * 1_000 + this.#byKey.of(holder.id);
      if (turns < least) [least, place] = [turns, index];
    }
    return place === -1 ? undefined : this.#waiting.splice(place, 1)[0];
  }
}
