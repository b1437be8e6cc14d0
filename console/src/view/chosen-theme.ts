/**
 * Dark or light theme as the user has chosen it, in the console or in the documents: both are on
 * one origin and share the choice.
 */
const PLACE = 'corkboard.theme';
const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** That of the system, unless the user has chosen one. */
export function chosenTheme(): Theme {
  return THEMES.find((known) => known === localStorage.getItem(PLACE)) ?? 'system';
}

export function storeTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(PLACE);
  else localStorage.setItem(PLACE, theme);
}

/** Shows this document in the theme. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function nextTheme(now: Theme): Theme {
  return THEMES[(THEMES.indexOf(now) + 1) % THEMES.length] ?? 'system';
}
