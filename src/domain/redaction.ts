/** The user fields that a key sees as pseudonyms (decisions 22, 63). */

/**
 * All fields that can be redacted. Redacting the id also redacts the address, because imports
 * derive the address from the id where a source has none.
 */
export const REDACTABLE = ['email', 'name', 'id'] as const;

/** For each field, whether it is redacted. */
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

/** A text that identifies the redaction: equal only for equal redactions. */
export function redactionText(redaction: Redaction): string {
  return REDACTABLE.filter((field) => redaction[field]).join();
}
