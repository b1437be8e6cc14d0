/** Text of files and servers in messages: it can be of any length. */

const SHOWN_CHARACTERS = 60;

/** The first characters, and `…` if there are more. */
export function shortened(text: string, most = SHOWN_CHARACTERS): string {
  if (text.length <= most) return text;
  // A copy without half of a surrogate pair: a slice would keep the whole text in memory.
  return `${Buffer.from(text.slice(0, most)).toString()}…`;
}

/** Shortened, in quotes, and on one line. */
export function quoted(text: string): string {
  return JSON.stringify(shortened(text));
}
