/**
 * Which user of a roster has an address that several users share, such as that of a parent, because
 * addresses are unique here. The user who has it already keeps it, or else the one with the lowest
 * `sourcedId` gets it. So neither the order of rows nor another import of the same roster changes
 * it.
 */
export class SharedAddresses {
  readonly #isWhole: boolean;
  /** Address by user in the import: empty if the source gives none, undefined if deleted. */
  readonly #claims = new Map<string, string | undefined>();
  /** Published users in the import, or with an address in it. */
  readonly #published = new Map<string, string>();
  readonly #claimed = new Set<string>();
  readonly #owners = new Map<string, string>();

  /** `isWhole`: published users who are not in the import are deleted. */
  constructor(isWhole: boolean) {
    this.#isWhole = isWhole;
  }

  /** The address in a row, which can be empty. A later row of the user takes precedence. */
  claim(user: string, address: string): void {
    const same = smallAscii(address);
    if (same === '' && this.#claims.get(user) !== undefined) return;
    this.#claims.set(user, same);
    if (same !== '') this.#claimed.add(same);
  }

  /** The user is deleted by a row. */
  delete(user: string): void {
    this.#claims.set(user, undefined);
  }

  /** The address of a published user. Called after all rows. */
  publish(user: string, address: string): void {
    const same = smallAscii(address);
    if (this.#claims.has(user) || this.#claimed.has(same)) this.#published.set(user, same);
  }

  /** Nothing of the rows counts. */
  clear(): void {
    this.#claims.clear();
    this.#claimed.clear();
  }

  /** Decides who has each address. */
  settle(): void {
    for (const [user, address] of this.#published) {
      if (this.#keeps(user, address)) this.#owners.set(address, user);
    }
    const kept = new Set(this.#owners.keys());
    for (const [user, address] of this.#claims) {
      if (address === undefined || address === '' || kept.has(address)) continue;
      const owner = this.#owners.get(address);
      if (owner === undefined || user < owner) this.#owners.set(address, user);
    }
  }

  /** Whether the user has the address in its row, or the row has none. */
  isOwn(user: string, address: string): boolean {
    return (this.#owners.get(smallAscii(address)) ?? user) === user;
  }

  /** Whether the published address of the user is in a row of a user who gets it. */
  mustLeave(user: string): boolean {
    const address = this.#published.get(user);
    return address !== undefined && (this.#owners.get(address) ?? user) !== user;
  }

  #keeps(user: string, address: string): boolean {
    if (!this.#claims.has(user)) return !this.#isWhole;
    const claim = this.#claims.get(user);
    return claim === '' || claim === address;
  }
}

/** A to Z in lower case: in addresses, their case is ignored (decision 9). */
function smallAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
