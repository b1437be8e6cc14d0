/** Text in files that spreadsheets open, without formulas (decision 65). */

/**
 * The start of a formula: a sign, which may be full-width, at the beginning of the text or after a
 * separator of any locale, optionally after spaces. Runs in linear time.
 */
const BEFORE_FORMULA = /(^|[,;"\t\r\n])(?= *[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** Inserts an apostrophe before formulas, and before a tab or line break at the beginning. */
export function defuse(text: string): string {
  return text.replace(BEFORE_FORMULA, "$1'").replace(/^(?=[\t\r\n])/, "'");
}
