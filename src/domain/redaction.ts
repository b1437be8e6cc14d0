/** What a key sees pseudonyms of, in place of what people are and are called (decisions 22, 63). */

/**
 * All that can be redacted. With the id goes the address, which imports make of it where a source
 * has none.
 */
export const REDACTABLE = ['email', 'name', 'id'] as const;

/** Whether each of them is. */
export type Redaction = Readonly<Record<(typeof REDACTABLE)[number], boolean>>;

export const NO_REDACTION: Redaction = { email: false, name: false, id: false };

export function hidesAddress({ email, id }: Pick<Redaction, 'email' | 'id'>): boolean {
  return email || id;
}

export function isRedacting(redaction: Redaction): boolean {
  return REDACTABLE.some((field) => redaction[field]);
}

export function isSameRedaction(one: Redaction, other: Redaction): boolean {
  return REDACTABLE.every((field) => one[field] === other[field]);
}

/** The same text for the same redaction only. */
export function redactionText(redaction: Redaction): string {
  return REDACTABLE.filter((field) => redaction[field]).join();
}
