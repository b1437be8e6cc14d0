/** JSON that line-oriented readers split only at real line ends (decision 70). */

/** Characters that JSON strings may contain unescaped and that some readers treat as line ends. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** Escapes these characters in JSON text; they occur only inside its strings. */
export function escapeLineEnds(json: string): string {
  return json.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
