/** Whether a text holds every word that somebody looks for, in any order and any case. */
export function matches(text: string, wanted: string): boolean {
  const within = text.toLocaleLowerCase();
  return wanted
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => within.includes(word));
}
