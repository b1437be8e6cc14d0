/**
 * The API key: kept only for this tab, never in a URL, deleted when the server refuses it or the
 * user signs out.
 */
import { useSyncExternalStore } from 'react';

const PLACE = 'corkboard.key';

interface State {
  readonly key: string;
  /** Why the server refused the last key; undefined if it was not refused. */
  readonly reason: string | undefined;
}

const listeners = new Set<() => void>();
let state: State = { key: sessionStorage.getItem(PLACE) ?? '', reason: undefined };

function change(next: State): void {
  state = next;
  if (next.key === '') sessionStorage.removeItem(PLACE);
  else sessionStorage.setItem(PLACE, next.key);
  for (const listener of listeners) listener();
}

/** Returns an empty string if there is no key. */
export function readKey(): string {
  return state.key;
}

export function takeKey(key: string): void {
  change({ key, reason: undefined });
}

export function forgetKey(reason?: string): void {
  if (state.key !== '') change({ key: '', reason });
}

export function useKey(): State {
  return useSyncExternalStore(listen, () => state);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
