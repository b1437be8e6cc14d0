/**
 * The pages of the documents: which Markdown files they are made from, and their order in the
 * navigation, by purpose (https://diataxis.fr). The order by reader is the table in the README.
 */
import { basename, dirname, join } from 'node:path/posix';

export interface Group {
  readonly title: string;
  /** What the pages are for, as a phrase. */
  readonly purpose: string;
  /** Links before those to the pages. */
  readonly links?: readonly { readonly title: string; readonly page: string }[];
  /** Paths from the root of the repository. */
  readonly sources: readonly string[];
}

/** Pages that are made from no Markdown file. */
export const REFERENCE_PAGE = 'api.html';
export const SEARCH_PAGE = 'search.html';

export const GROUPS: readonly Group[] = [
  {
    title: 'Tutorials',
    purpose: 'Lessons from start to finish, with the demo data',
    sources: [
      'docs/tutorials/from-key-to-dataframe.md',
      'docs/tutorials/grades-into-an-lms.md',
      'docs/tutorials/first-day-as-an-operator.md',
    ],
  },
  {
    title: 'How-to guides',
    purpose: 'Steps towards one goal',
    sources: [
      'docs/recipes.md',
      'docs/operations.md',
      'docs/sync.md',
      'docs/bi-tools.md',
      'docs/gradebooks.md',
      'docs/pull.md',
      'CONTRIBUTING.md',
    ],
  },
  {
    title: 'Reference',
    purpose: 'Facts to look up',
    links: [
      { title: 'API reference', page: REFERENCE_PAGE },
      { title: 'Glossary', page: 'architecture.html#glossary' },
    ],
    sources: [
      'docs/contract.md',
      'docs/data-dictionary.md',
      'docs/errors.md',
      'docs/client.md',
      'docs/import.md',
      'docs/other-formats.md',
      'docs/other-software.md',
      'docs/command-line.md',
      'docs/settings.md',
      'CHANGELOG.md',
    ],
  },
  {
    title: 'Explanation',
    purpose: 'How it works, and why',
    sources: [
      'docs/points.md',
      'docs/scaling.md',
      'SECURITY.md',
      'ARCHITECTURE.md',
      'docs/decisions.md',
      'bench/README.md',
      'bench/results.md',
      'bench/mechanisms.md',
      'bench/neighbours.md',
    ],
  },
];

/** The source of the home page. */
export const HOME = 'README.md';
export const HOME_PAGE = 'index.html';
export const SOURCES: readonly string[] = GROUPS.flatMap(({ sources }) => sources);

/** Path of the page in the folder of the site; absent for files that are no pages. */
export function pageOf(source: string): string | undefined {
  if (source === HOME) return HOME_PAGE;
  if (!SOURCES.includes(source)) return undefined;
  const folder = dirname(source).replace(/^docs(\/|$)/, '');
  const name = basename(source, '.md').toLowerCase();
  return join(folder, `${name === 'readme' ? 'index' : name}.html`);
}
