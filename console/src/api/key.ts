/**
 * The API key: kept only by the tabs of the console, never in a URL, deleted when the server
 * refuses it or the user signs out. A new tab asks the open ones for it, and nothing is stored for
 * that.
 */
import { useSyncExternalStore } from 'react';

const PLACE = 'corkboard.key';

interface State {
  readonly key: string;
  /** Why the server refused the last key; undefined if it was not refused. */
  readonly reason: string | undefined;
}

/** What the tabs of one browser tell each other. */
type Message =
  | { readonly type: 'wanted' }
  | { readonly type: 'given'; readonly key: string }
  | { readonly type: 'forgotten'; readonly key: string };

/** How long a new tab waits for a key. */
const WAIT_MS = 1_000;
/** Hidden tabs reply later, so that the key of the tab in sight goes first. */
const HIDDEN_MS = 200;

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

/** After the server has refused the key. */
export function loseKey(reason: string): void {
  if (state.key !== '') change({ key: '', reason });
}

/** Absent until the tab shares its key. */
let tabs: BroadcastChannel | undefined;

/** Gives the key to new tabs that ask for it, and asks the open ones if there is none. */
export function shareKey(): void {
  const channel = new BroadcastChannel(PLACE);
  const tell = (message: Message) => channel.postMessage(message);
  let isWaiting = state.key === '';
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.type === 'wanted') {
      const { key } = state;
      if (key !== '') setTimeout(tell, document.hidden ? HIDDEN_MS : 0, { type: 'given', key });
    } else if (data.type === 'given') {
      if (isWaiting && state.key === '') takeKey(data.key);
    } else if (data.key === state.key) change({ key: '', reason: undefined });
  };
  tabs = channel;
  if (!isWaiting) return;
  tell({ type: 'wanted' });
  setTimeout(() => {
    isWaiting = false;
  }, WAIT_MS);
}

/** In all tabs that have the key. */
export function signOut(): void {
  const message: Message = { type: 'forgotten', key: state.key };
  if (state.key !== '') tabs?.postMessage(message);
  change({ key: '', reason: undefined });
}

export function useKey(): State {
  return useSyncExternalStore(listen, () => state);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
