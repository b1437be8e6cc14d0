/** The pages of the documents as HTML, and the sections that the search finds. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import MiniSearch from 'minisearch';
import { describeVariant } from '../../src/server/routes/openapi.ts';
import { publishedBases } from '../../src/server/routes/variants.ts';
import { SEARCH_OPTIONS, type SectionEntry } from '../browser/search-options.ts';
import { GROUPS, HOME, HOME_PAGE, pageOf, REFERENCE_PAGE, SEARCH_PAGE, SOURCES } from './contents.ts';
import type { Entry, Frame } from './frame.ts';
import { renderGroup, renderPage } from './frame.ts';
import { type Document, readDocument, type Section, textOf } from './markdown.ts';

const ROOT = join(import.meta.dirname, '../..');
const PICTURES = 'pictures';
/** In code of a static site: the address that `npm start` has. */
const EXAMPLE_SERVER = 'http://127.0.0.1:8080';

/** What the bundler has made. */
export interface Bundle {
  readonly page: Entry;
  readonly search: Entry;
  readonly reference: Entry;
}

interface Wishes {
  /**
   * For a server of files: with the OpenAPI documents, and without requests to the API. Otherwise
   * the server of the pages is that of the API.
   */
  readonly isStatic: boolean;
}

/** The files of the site by path in its folder, without those of the bundler. */
export function renderSite(bundle: Bundle, { isStatic }: Wishes): ReadonlyMap<string, string | Buffer> {
  const files = new Map<string, string | Buffer>();
  const addPicture = (path: string) => {
    const picture = `${PICTURES}/${basename(path)}`;
    files.set(picture, readFileSync(join(ROOT, path)));
    return picture;
  };
  const read = (source: string): readonly [string, Document] => {
    const page = pageOf(source) ?? '';
    return [source, readDocument(readText(source), { source, page, addPicture })];
  };
  const documents = new Map(SOURCES.map(read));
  const titles = new Map([...documents].map(([source, { title }]) => [source, title]));
  const icon = addPicture('console/src/icon.svg');
  const { version: productVersion } = JSON.parse(readText('package.json'));
  const add = (page: string, title: string, main: string, others: Partial<Frame> = {}) => {
    const frame = { page, title, main, titles, icon, productVersion, entries: [bundle.page], ...others };
    files.set(page, renderPage(frame));
  };
  for (const [source, document] of documents) {
    const main = document.sections.map(renderSection).join('\n');
    add(pageOf(source) ?? '', document.title, main, { document });
  }
  const [, readme] = read(HOME);
  add(HOME_PAGE, readme.title, renderHome(readme, titles));
  add(SEARCH_PAGE, 'Search', SEARCH, { entries: [bundle.page, bundle.search] });
  const apis = isStatic ? addApis(files) : publishedApis().map(({ document }) => `..${document}`);
  add(REFERENCE_PAGE, 'API reference', renderReference(apis, isStatic), {
    ...{ isWide: true, entries: [bundle.page, bundle.reference] },
  });
  files.set('search.json', JSON.stringify(indexOf(documents)));
  return files;
}

function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function renderSection({ heading, html }: Section): string {
  if (heading === undefined) return html;
  const { level, anchor, html: title } = heading;
  const link =
    level === 1 ? '' : ` <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a>`;
  return `<h${level} id="${anchor}">${title}${link}</h${level}>\n${html}`;
}

/** The introduction of the README, its table of readers as cards, and all pages by purpose. */
function renderHome({ sections }: Document, titles: ReadonlyMap<string, string>): string {
  const htmlOf = (anchor: string) => {
    const section = sections.find(({ heading }) => heading?.anchor === anchor);
    if (section === undefined) throw new Error(`README.md has no section "${anchor}".`);
    return section.html;
  };
  const [introduction = '', picture = ''] = htmlOf('corkboard').split(/(?=<p><img)/);
  const rows = [
    ...htmlOf('where-to-go-next').matchAll(/<tr>\s*<td>(.*?)<\/td>\s*<td>(.*?)<\/td>\s*<td>(.*?)<\/td>/g),
  ];
  const cards = rows.map(
    ([, reader = '', first = '', then = '']) =>
      `<li><h3>${reader.replace(/^an? /, (article) => article.replace('a', 'A'))}</h3>\n<p class="first">${first}</p>\n<p>${then}</p></li>`,
  );
  const groups = GROUPS.map(
    (group) =>
      `<section>\n<h3>${group.title}</h3>\n<p>${group.purpose}</p>\n${renderGroup(group, titles, HOME_PAGE)}\n</section>`,
  );
  return `<h1>Corkboard documents</h1>
${introduction}
<p class="prominent"><a href="${REFERENCE_PAGE}">API reference</a> Every route, parameter, response and
schema of both variants and of the insights, with code in many languages and a form to try requests.</p>
<h2 id="start">Where to start</h2>
<p>You are …</p>
<ul class="cards">\n${cards.join('\n')}\n</ul>
<h2 id="all">All pages</h2>
<div class="groups">\n${groups.join('\n')}\n</div>
${picture}`;
}

const SEARCH = `<h1>Search</h1>
<form class="find-large" role="search">
<label for="query">Words in the documents</label>
<input type="search" id="query" name="q" autocomplete="off">
</form>
<p id="found" role="status">The search requires JavaScript.</p>
<ol id="results" class="results"></ol>`;

/** Both variants and the insights, each once. */
function publishedApis() {
  return publishedBases('a').filter(({ base }) => base !== '');
}

/** Adds the OpenAPI documents and returns their paths. */
function addApis(files: Map<string, string | Buffer>): readonly string[] {
  return publishedApis().map(({ base, table }) => {
    const path = `openapi${base}.json`;
    files.set(path, JSON.stringify(describeVariant(table, base)));
    return path;
  });
}

function renderReference(apis: readonly string[], isStatic: boolean): string {
  const server = isStatic ? ` data-server="${EXAMPLE_SERVER}"` : '';
  const plain = isStatic ? '' : ' The <a href="api/plain">plain reference</a> does not.';
  // The component has a `main` and an `h1` of its own.
  return `<div id="main">
<noscript><p class="notice">This page requires JavaScript.${plain}</p></noscript>
<div id="reference" data-documents="${apis.join(' ')}"${server}></div>
</div>`;
}

/** Has thousands of numbers and hardly a word to search for. */
const TABLES_OF_FIGURES = 'bench/results.md';

function indexOf(documents: ReadonlyMap<string, Document>): MiniSearch<SectionEntry> {
  const index = new MiniSearch<SectionEntry>(SEARCH_OPTIONS);
  for (const [source, { title, sections }] of documents) {
    if (source === TABLES_OF_FIGURES) continue;
    const page = pageOf(source) ?? '';
    for (const { heading, html } of sections) {
      const anchor = heading === undefined || heading.level === 1 ? '' : `#${heading.anchor}`;
      index.add({
        ...{ id: page + anchor, page: title, heading: textOf(heading?.html ?? ''), text: textOf(html) },
      });
    }
  }
  return index;
}
