/** The frame of every page: header, navigation, the headings of the page, styles and scripts. */
import { GROUPS, type Group, HOME_PAGE, pageOf, REFERENCE_PAGE, SEARCH_PAGE } from './contents.ts';
import { type Document, escapeHtml, linkTo, textOf } from './markdown.ts';

/** Paths of the files of an entry in the folder of the site. */
export interface Entry {
  readonly script: string;
  /** A script that runs before it and is no module. */
  readonly component?: string;
  /** Scripts that it imports. */
  readonly imports: readonly string[];
  readonly styles: readonly string[];
}

export interface Frame {
  /** Path of the page in the folder of the site. */
  readonly page: string;
  readonly title: string;
  readonly main: string;
  /** For the whole site, and for this page. */
  readonly entries: readonly Entry[];
  /** Path of the icon in the folder of the site. */
  readonly icon: string;
  /** Titles of pages, by source. */
  readonly titles: ReadonlyMap<string, string>;
  readonly productVersion: string;
  /** The headings below the title; absent: no list of them. */
  readonly document?: Document;
  /** Without the navigation and the margins, for the reference. */
  readonly isWide?: boolean;
}

const LOGO = `<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M8 22V15M13.3 22V9M18.6 22v-9M24 22v-5"/></svg>`;

export function renderPage(frame: Frame): string {
  const { page, title, main, isWide = false, productVersion } = frame;
  const to = (path: string) => linkTo(path, page);
  // The reference brings a header of its own on phones, and a page has one banner.
  const top = isWide ? 'nav' : 'header';
  const about = page === HOME_PAGE ? 'Corkboard documents' : `${title} · Corkboard`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(about)}</title>
<link rel="icon" href="${to(frame.icon)}" type="image/svg+xml">
${frame.entries.map((entry) => renderEntry(entry, page)).join('\n')}
</head>
<body${isWide ? ' class="is-wide"' : ''}>
<a class="skip" href="#main">Skip to content</a>
<${top} class="top"${isWide ? ' aria-label="Documents"' : ''}>
<a class="brand" href="${to(HOME_PAGE)}">${LOGO}Corkboard <span>documents</span></a>
${isWide ? '' : `<button type="button" class="menu" popovertarget="pages">Pages</button>`}
${page === SEARCH_PAGE ? '' : renderSearchForm(to(SEARCH_PAGE))}
<a class="top-link" href="${to(REFERENCE_PAGE)}"${page === REFERENCE_PAGE ? ' aria-current="page"' : ''}>API<span> reference</span></a>
<button type="button" class="theme" hidden></button>
</${top}>
${isWide ? main : `<div class="columns">\n${renderNavigation(frame)}\n<main id="main">\n${main}\n<footer>Corkboard ${productVersion}</footer>\n</main>\n${renderHeadings(frame.document)}</div>`}
</body>
</html>
`;
}

function renderSearchForm(action: string): string {
  return `<form class="find" role="search" action="${action}">
<input type="search" name="q" aria-label="Search the documents" placeholder="Search the documents" required>
</form>`;
}

function renderEntry({ script, component, imports, styles }: Entry, page: string): string {
  return [
    ...styles.map((style) => `<link rel="stylesheet" href="${linkTo(style, page)}">`),
    ...imports.map((file) => `<link rel="modulepreload" href="${linkTo(file, page)}">`),
    ...(component === undefined ? [] : [`<script defer src="${linkTo(component, page)}"></script>`]),
    `<script type="module" src="${linkTo(script, page)}" blocking="render"></script>`,
  ].join('\n');
}

function renderNavigation({ page, titles }: Frame): string {
  const groups = GROUPS.map((group) => `<h2>${group.title}</h2>\n${renderGroup(group, titles, page)}`);
  return `<nav id="pages" class="pages" aria-label="Pages" popover>\n${groups.join('\n')}\n</nav>`;
}

/** The links of a group, from the page. */
export function renderGroup(
  { links = [], sources }: Group,
  titles: ReadonlyMap<string, string>,
  page: string,
): string {
  const pages = sources.map((source) => ({ title: titles.get(source) ?? '', page: pageOf(source) ?? '' }));
  const items = [...links, ...pages].map(({ title, page: target }) => {
    const current = target === page ? ' aria-current="page"' : '';
    return `<li><a href="${linkTo(target, page)}"${current}>${escapeHtml(title)}</a></li>`;
  });
  return `<ul>\n${items.join('\n')}\n</ul>`;
}

function renderHeadings(document: Document | undefined): string {
  const headings = (document?.sections ?? []).flatMap(({ heading }) =>
    heading !== undefined && [2, 3].includes(heading.level) ? [heading] : [],
  );
  if (headings.length < 2) return '';
  const links = headings.map(
    ({ level, anchor, html }) =>
      `<li class="level-${level}"><a href="#${anchor}">${escapeHtml(textOf(html))}</a></li>`,
  );
  return `<nav class="headings" aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n${links.join('\n')}\n</ul>\n</nav>\n`;
}
