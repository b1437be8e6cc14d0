/** What texts of records can be, here and on other servers. */

/** In characters, as a JavaScript string counts them. */
export const LONGEST_EMAIL = 320;

/** Those of Corkboard have 22 characters. Any of this length fits into an index of PostgreSQL. */
const LONGEST_SYNC_ID = 256;

/** Whether every store keeps the text as it is: UTF-8 has no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** The text with U+FFFD in place of each character that not every store keeps. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** Whether a server may send this as the `sync_id` of an event (decision 19). */
export function isSyncId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_SYNC_ID && isStorable(value);
}

export const SYNC_ID_RULE = `must be text of 1 to ${LONGEST_SYNC_ID} characters`;
