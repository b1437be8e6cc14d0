/**
 * Markdown to HTML: headings with the anchors that the platforms of repositories give them, links
 * between pages, code blocks with their language, tables that scroll.
 */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import { pageOf } from './contents.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface Heading {
  readonly level: number;
  readonly anchor: string;
  /** Inline HTML without links. */
  readonly html: string;
}

export interface Section {
  /** Absent before the first heading. */
  readonly heading: Heading | undefined;
  readonly html: string;
}

export interface Document {
  readonly title: string;
  readonly sections: readonly Section[];
}

export interface Place {
  /** Path of the Markdown file from the root of the repository. */
  readonly source: string;
  /** Path of the page in the folder of the site. */
  readonly page: string;
  /** Copies a picture of the repository into the site and returns its path there. */
  readonly addPicture: (path: string) => string;
}

/** The anchor of a heading, given its Markdown. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

/** Throws if a link names a missing file. */
export function readDocument(markdown: string, place: Place): Document {
  const marked = new Marked({ renderer: rendererOf(place) });
  const tokens = marked.lexer(markdown);
  const sections: Section[] = [];
  let heading: Heading | undefined;
  let title = '';
  let body: Token[] = [];
  const end = () => {
    const html = marked.parser(Object.assign(body, { links: tokens.links }));
    if (heading !== undefined || html !== '') sections.push({ heading, html });
    body = [];
  };
  const anchors = new Map<string, number>();
  for (const token of tokens) {
    if (token.type !== 'heading') {
      body.push(token);
      continue;
    }
    end();
    const { depth, text, tokens: inline = [] } = token as Tokens.Heading;
    const anchor = anchorOf(text);
    const times = anchors.get(anchor) ?? 0;
    anchors.set(anchor, times + 1);
    const html = marked.Parser.parseInline(inline).replace(/<\/?a\b[^>]*>/g, '');
    heading = { level: depth, anchor: times === 0 ? anchor : `${anchor}-${times}`, html };
    if (depth === 1) title = textOf(html);
  }
  end();
  return { title, sections };
}

/** The text of HTML that this module has made. */
export function textOf(html: string): string {
  return html
    .replace(/<[^>]+>/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim();
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A relative link from one page to another; `to` can have an anchor. */
export function linkTo(to: string, from: string): string {
  return relative(dirname(from), to).replaceAll('\\', '/');
}

interface Inline {
  readonly parser: { parseInline(tokens: Token[]): string };
}

function rendererOf(place: Place) {
  return {
    code({ text, lang = '' }: Tokens.Code): string {
      const label = lang === '' ? '' : `<figcaption>${escapeHtml(lang)}</figcaption>`;
      const attribute = lang === '' ? '' : ` class="language-${escapeHtml(lang)}"`;
      return `<figure class="code">${label}<pre tabindex="0"><code${attribute}>${escapeHtml(text)}\n</code></pre></figure>\n`;
    },
    table(this: Inline, { header, rows }: Tokens.Table): string {
      const cells = (row: readonly Tokens.TableCell[], isHead: boolean) =>
        row.map((cell) => renderCell(this.parser.parseInline(cell.tokens), cell.align, isHead)).join('');
      const body = rows.map((row) => `<tr>${cells(row, false)}</tr>`).join('\n');
      return `<div class="table" tabindex="0" role="group" aria-label="Table">\n<table>\n<thead><tr>${cells(header, true)}</tr></thead>\n<tbody>\n${body}\n</tbody>\n</table>\n</div>\n`;
    },
    image({ href, text }: Tokens.Image): string {
      const picture = join(dirname(place.source), href);
      return `<img src="${linkTo(place.addPicture(picture), place.page)}" alt="${escapeHtml(text)}">`;
    },
    link(this: Inline, token: Tokens.Link): string {
      const html = this.parser.parseInline(token.tokens);
      const target = resolveLink(token.href, place);
      if (target.type === 'page') return `<a href="${escapeHtml(target.href)}">${html}</a>`;
      const isNamed = textOf(html).includes(target.path);
      return isNamed ? html : `${html} (<code>${escapeHtml(target.path)}</code> in the repository)`;
    },
  };
}

/** Empty cells are not headers, which must have a name. */
function renderCell(html: string, align: string | null, isHead: boolean): string {
  const name = isHead && html !== '' ? 'th' : 'td';
  return `<${name}${align === null ? '' : ` align="${align}"`}>${html}</${name}>`;
}

type Target =
  | { readonly type: 'page'; readonly href: string }
  /** A file that is not on the site. */
  | { readonly type: 'file'; readonly path: string };

function resolveLink(href: string, { source, page }: Place): Target {
  if (/^(https?:|mailto:|#)/.test(href)) return { type: 'page', href };
  const [file = '', anchor] = href.split('#', 2);
  const path = join(dirname(source), file);
  if (!existsSync(join(ROOT, path))) throw new Error(`${source} links to ${href}, which does not exist.`);
  const target = pageOf(path);
  if (target === undefined) return { type: 'file', path };
  return { type: 'page', href: linkTo(target, page) + (anchor === undefined ? '' : `#${anchor}`) };
}
