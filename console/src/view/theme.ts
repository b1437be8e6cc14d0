/** The chosen theme as a state of the console. */
import { useSyncExternalStore } from 'react';
import { applyTheme, chosenTheme, storeTheme, type Theme } from './chosen-theme.ts';

const listeners = new Set<() => void>();
let theme = chosenTheme();

export function chooseTheme(next: Theme): void {
  theme = next;
  storeTheme(next);
  applyTheme(next);
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
