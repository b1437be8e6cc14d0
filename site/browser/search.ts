/** The search page: loads the index and lists the sections that contain the words. */
import MiniSearch, { type SearchResult } from 'minisearch';
import { SEARCH_OPTIONS } from './search-options.ts';

const MOST_RESULTS = 40;
const EXCERPT_CHARACTERS = 220;

const field = find<HTMLInputElement>('query');
const status = find('found');
const list = find('results');

function find<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

async function begin(): Promise<void> {
  field.value = new URLSearchParams(location.search).get('q') ?? '';
  field.focus();
  status.textContent = 'Loading …';
  const response = await fetch('search.json');
  if (!response.ok) throw new Error(`search.json returned status ${response.status}.`);
  const index = MiniSearch.loadJSON(await response.text(), SEARCH_OPTIONS);
  const show = () => {
    const query = field.value.trim();
    history.replaceState(null, '', query === '' ? location.pathname : `?q=${encodeURIComponent(query)}`);
    const results = index.search(query);
    const shown = results.slice(0, MOST_RESULTS);
    status.textContent = query === '' ? '' : describe(results.length, shown.length);
    list.replaceChildren(...shown.map(renderResult));
  };
  field.addEventListener('input', show);
  field.form?.addEventListener('submit', (event) => event.preventDefault());
  show();
}

function describe(found: number, shown: number): string {
  if (found === 0) return 'No section contains these words.';
  const text = found === 1 ? 'One section' : `${found} sections`;
  return found > shown ? `${text}, the first ${shown} of them` : text;
}

function renderResult({ id, page, heading, text, terms }: SearchResult): HTMLElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = id;
  link.textContent = heading === page ? page : `${page}: ${heading}`;
  const excerpt = document.createElement('p');
  excerpt.append(...excerptOf(text, terms));
  item.append(link, excerpt);
  return item;
}

/** The text around the first of the terms, with all of them marked. */
function excerptOf(text: string, terms: readonly string[]): (string | HTMLElement)[] {
  // The index splits texts at every character that has a meaning in a pattern.
  const pattern = new RegExp(`(${terms.join('|')})`, 'giu');
  const at = Math.max(text.search(pattern) - EXCERPT_CHARACTERS / 4, 0);
  const from = at === 0 ? 0 : text.indexOf(' ', at) + 1;
  const part = text.slice(from, from + EXCERPT_CHARACTERS);
  const pieces = `${from > 0 ? '… ' : ''}${part}${from + part.length < text.length ? ' …' : ''}`.split(
    pattern,
  );
  return pieces.map((piece, place) => {
    if (place % 2 === 0) return piece;
    const mark = document.createElement('mark');
    mark.textContent = piece;
    return mark;
  });
}

begin().catch((error: unknown) => {
  status.textContent = `The search is not available: ${error instanceof Error ? error.message : error}`;
});
