/**
 * The resources of the contract (section 2) as a dataset holds them. `index` positions (32-bit, dense, from 0)
 * stand for a person, board, pin or kind inside one version. Later versions of the same store keep them and add others
 * behind; in another store an index means nothing.
 */
export interface Organization {
  readonly id: bigint;
  /** What the API shows as the organization's `name`. */
  readonly title: string;
  readonly domain: string;
  readonly categoryId: bigint;
}

/** Kind of an event: what was acted on, and what was done. `type` `pin` means that the event carries a pin. */
export interface Kind {
  readonly type: string;
  readonly action: string;
}

export interface Person {
  readonly id: bigint;
  readonly email: string;
  readonly name: string;
  readonly firstName: string;
  readonly lastName: string;
  /** Whether the name shows the address, the id, or what these were made of (`derived-name.ts`). */
  readonly nameIsDerived: boolean;
  readonly role: string;
  readonly classRole: string;
}

export interface Board {
  readonly id: bigint;
  readonly title: string;
  readonly category: string;
}

export interface Pin {
  readonly id: bigint;
  readonly title: string;
  readonly body: string;
  readonly webUrl: string;
  readonly imageUrl: string;
  readonly tags: readonly string[];
}
