/** Whether a text contains every search word, in any order and in any case. */
export function matches(text: string, wanted: string): boolean {
  const within = text.toLocaleLowerCase();
  return wanted
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => within.includes(word));
}
