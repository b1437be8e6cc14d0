/** How the sections of the documents are indexed; the same for the build and for the page. */
import type { Options } from 'minisearch';

export interface SectionEntry {
  /** Path of the page and anchor of the heading. */
  readonly id: string;
  /** Title of the page. */
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** Words in nearly every section: they take a twentieth of the index and find nothing. */
const IGNORED = new Set('a an and are as by for from in is it its of on or that the to with'.split(' '));

function wordsOf(text: string): string[] {
  return text.split(/[\s\p{P}\p{S}]+/u).filter((word) => word !== '');
}

export const SEARCH_OPTIONS: Options<SectionEntry> = {
  fields: ['page', 'heading', 'text'],
  storeFields: ['page', 'heading', 'text'],
  tokenize: wordsOf,
  processTerm(term) {
    const word = term.toLowerCase();
    return IGNORED.has(word) ? null : word;
  },
  searchOptions: {
    // The last word of a query can be the beginning of a longer one.
    tokenize: (query) =>
      wordsOf(query.toLowerCase()).filter((word, at, words) => at === words.length - 1 || !IGNORED.has(word)),
    processTerm: (term) => term,
    boost: { page: 2, heading: 3 },
    prefix: true,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    combineWith: 'AND',
  },
};
