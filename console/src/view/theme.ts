/** Dark or light theme: that of the system, unless the user has chosen one. */
import { useSyncExternalStore } from 'react';

const PLACE = 'corkboard.theme';
const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const listeners = new Set<() => void>();
let theme = THEMES.find((known) => known === localStorage.getItem(PLACE)) ?? 'system';

/** Must be called once before the first rendering. */
export function applyTheme(): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function chooseTheme(next: Theme): void {
  theme = next;
  if (next === 'system') localStorage.removeItem(PLACE);
  else localStorage.setItem(PLACE, next);
  applyTheme();
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => theme,
  );
}

export function nextTheme(now: Theme): Theme {
  return THEMES[(THEMES.indexOf(now) + 1) % THEMES.length] ?? 'system';
}
