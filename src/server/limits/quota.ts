/**
 * Limits the amount of one resource that a key, its organization and the process may hold at the
 * same time (decision 60). Any further amount is refused at once; nothing waits here.
 */
import { AppError, type ErrorCode } from '../../domain/app-error.ts';
import type { KeyEntry } from '../../keys/keyring.ts';
import type { LimitName, Limits } from './limits.ts';

type Holder = Pick<KeyEntry, 'id' | 'organization'>;

/**
 * Each resource has three limits in the table, for example `streams`, `streams-per-organization`,
 * `streams-per-key`.
 */
export type Resource =
  | 'responses'
  | 'response-memory'
  | 'parquet-files'
  | 'parquet-disk'
  | 'streams'
  | 'connections';

interface QuotaRefusal {
  /** When the key or its organization has reached its limit. */
  readonly share: ErrorCode;
  /** When the process has reached its limit. */
  readonly process: ErrorCode;
  readonly what: string;
  readonly remedy: string;
}

const PAGES = 'Wait until one ends, or request pages with "limit".';
const LATER = 'Close one, or poll with "since" instead.';

const REFUSALS: Readonly<Record<Resource, QuotaRefusal>> = {
  responses: {
    ...{ share: 'too-many-responses', process: 'server-busy' },
    ...{ what: 'concurrent large responses', remedy: PAGES },
  },
  'response-memory': {
    ...{ share: 'too-many-responses', process: 'server-busy' },
    ...{ what: 'memory for large responses', remedy: PAGES },
  },
  'parquet-files': {
    ...{ share: 'too-many-responses', process: 'server-busy' },
    ...{ what: 'concurrent Parquet files', remedy: PAGES },
  },
  'parquet-disk': {
    ...{ share: 'too-many-responses', process: 'no-room' },
    ...{ what: 'disk space for Parquet files', remedy: PAGES },
  },
  connections: {
    ...{ share: 'too-many-connections', process: 'server-busy' },
    ...{ what: 'connections', remedy: 'Reuse the open connections.' },
  },
  streams: {
    ...{ share: 'too-many-own-streams', process: 'too-many-streams' },
    ...{ what: 'live streams', remedy: LATER },
  },
};

/** Whether a code is the temporary refusal of a large response. */
export function isRefusedShare(code: ErrorCode): boolean {
  return code === 'too-many-responses' || code === 'server-busy';
}

/** Called for every refusal, with the limit that refused. */
export type CountRefusal = (limit: LimitName) => void;

/** The amount that one holder has taken. It is given back as a whole. */
export interface Share {
  /** Takes more for the same holder. Throws like `Quota.take`. */
  add(amount: number): void;
  /** Must be called once. */
  giveBack(): void;
}

export class Quota {
  readonly #resource: Resource;
  readonly #limits: Limits;
  readonly #countRefusal: CountRefusal;
  readonly #byKey = new Tally();
  readonly #byOrganization = new Tally();
  #used = 0;

  constructor(resource: Resource, limits: Limits, countRefusal: CountRefusal) {
    this.#resource = resource;
    this.#limits = limits;
    this.#countRefusal = countRefusal;
  }

  /** The amount that all holders hold together. */
  get used(): number {
    return this.#used;
  }

  /**
   * Throws a code of status 429 when the key or its organization has reached its limit, and of
   * status 503 when the process has.
   */
  take(holder: Holder, amount = 1): Share {
    this.#add(holder, amount);
    let held = amount;
    return {
      add: (more) => {
        this.#add(holder, more);
        held += more;
      },
      giveBack: () => {
        this.#byKey.change(holder.id, -held);
        this.#byOrganization.change(holder.organization, -held);
        this.#used -= held;
        held = 0;
      },
    };
  }

  #add(holder: Holder, amount: number): void {
    const exceeded = this.#exceeded(holder, amount);
    if (exceeded !== undefined) {
      this.#countRefusal(exceeded);
      throw refusalOf(this.#resource, exceeded, this.#limits[exceeded]);
    }
    this.#byKey.change(holder.id, amount);
    this.#byOrganization.change(holder.organization, amount);
    this.#used += amount;
  }

  #exceeded({ id, organization }: Holder, amount: number): LimitName | undefined {
    const resource = this.#resource;
    const ofKey = `${resource}-per-key` as const;
    const ofOrganization = `${resource}-per-organization` as const;
    if (this.#byKey.of(id) + amount > this.#limits[ofKey]) return ofKey;
    if (this.#byOrganization.of(organization) + amount > this.#limits[ofOrganization]) return ofOrganization;
    return this.#used + amount > this.#limits[resource] ? resource : undefined;
  }
}

function refusalOf(resource: Resource, limit: LimitName, value: number): AppError {
  const { share, process, what, remedy } = REFUSALS[resource];
  if (limit === resource) {
    return new AppError(process, `The server has reached its limit for ${what} (${limit}). ${remedy}`);
  }
  const who = limit.endsWith('-per-key') ? 'This key' : 'The organization of this key';
  return new AppError(share, `${who} has reached its limit for ${what} (${limit}, ${value}). ${remedy}`);
}

/** Amounts by name. Names with the amount 0 take no memory. */
export class Tally {
  readonly #amounts = new Map<string, number>();

  of(name: string): number {
    return this.#amounts.get(name) ?? 0;
  }

  change(name: string, by: number): void {
    const amount = this.of(name) + by;
    if (amount === 0) this.#amounts.delete(name);
    else this.#amounts.set(name, amount);
  }
}
