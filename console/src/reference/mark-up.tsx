/** A text in which what stands between back-ticks is code. */
export function MarkUp({ text }: { readonly text: string }) {
  return text.split('`').map((part, place) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text that stays as it is
    place % 2 === 1 ? <code key={place}>{part}</code> : part,
  );
}
