/**
 * The organizations whose current version cannot be read, and whether keys cannot be read, as far
 * as this process knows (decision 65). The datasets and the authentication record them; readiness
 * and metrics show them.
 */

export const IMPAIRMENTS = ['unavailable', 'earlier', 'partial'] as const;

/**
 * Responses of an impaired organization. `unavailable`: 503; `earlier`: from an earlier version;
 * `partial`: 503 if a request meets the damage, otherwise from the current version.
 */
export type Impairment = (typeof IMPAIRMENTS)[number];

export type ImpairedCounts = Readonly<Record<Impairment, number>>;

export class Impaired {
  /** Whether a key could not be read because of damage, since the start. */
  keys = false;
  readonly #organizations = new Map<string, Impairment>();

  note(organization: string, impairment: Impairment): void {
    this.#organizations.set(organization, impairment);
  }

  clear(organization: string): void {
    this.#organizations.delete(organization);
  }

  get(organization: string): Impairment | undefined {
    return this.#organizations.get(organization);
  }

  counts(): ImpairedCounts {
    const counts = { unavailable: 0, earlier: 0, partial: 0 };
    for (const impairment of this.#organizations.values()) counts[impairment] += 1;
    return counts;
  }
}
