/** The name and the logo of the product. */
export function Brand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M8 22V15M13.3 22V9M18.6 22v-9M24 22v-5" />
      </svg>
      Corkboard
    </span>
  );
}
