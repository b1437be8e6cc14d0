/**
 * The organizations whose version in force cannot be read, as far as this process has found out
 * (decision 65). The datasets note them; readiness and metrics count them.
 */

export const IMPAIRMENTS = ['unavailable', 'earlier', 'partial'] as const;

/**
 * Responses meanwhile. `unavailable`: 503; `earlier`: from an earlier version; `partial`: 503 where
 * a request meets the damage, from the version in force elsewhere.
 */
export type Impairment = (typeof IMPAIRMENTS)[number];

export type ImpairedCounts = Readonly<Record<Impairment, number>>;

export class Impaired {
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
