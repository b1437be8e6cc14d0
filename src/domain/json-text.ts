/** JSON that line-oriented readers split only at real line ends (decision 70). */

/** Characters that JSON strings may contain unescaped and that some readers treat as line ends. */
const ENDS = ['\u0085', '\u2028', '\u2029'];
const LINE_ENDS = new RegExp(`[${ENDS.join('')}]`, 'g');

/** Whether a text contains such characters; as UTF-8. */
export function hasLineEnds({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  return ENDS.some((end) => bytes.includes(end));
}

/** Escapes these characters in JSON text; they occur only inside its strings. */
export function escapeLineEnds(json: string): string {
  return json.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
