/** JSON that readers of lines split only where lines end (decision 70). */

/** What JSON may hold raw in a text, and what some readers of lines take for the end of one. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** The same JSON with these characters as escapes; they occur only inside its texts. */
export function escapeLineEnds(json: string): string {
  return json.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
