/** Renders a text; parts between backticks are code. */
export function MarkUp({ text }: { readonly text: string }) {
  return text.split('`').map((part, place) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text that stays as it is
    place % 2 === 1 ? <code key={place}>{part}</code> : part,
  );
}
