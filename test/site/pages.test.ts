/** The pages that are made from the documents: contents, links, anchors, home, search. */
import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { join as joinUrl } from 'node:path/posix';
import { describe, it } from 'node:test';
import MiniSearch from 'minisearch';
import { SEARCH_OPTIONS } from '../../site/browser/search-options.ts';
import { GROUPS, pageOf, SOURCES } from '../../site/build/contents.ts';
import { readDocument } from '../../site/build/markdown.ts';
import { renderSite } from '../../site/build/pages.ts';

const ROOT = join(import.meta.dirname, '../..');
const entry = (name: string) => ({
  script: `assets/${name}.js`,
  imports: [],
  styles: [`assets/${name}.css`],
});
const BUNDLE = { page: entry('page'), search: entry('search'), reference: entry('reference') };
const SITE = renderSite(BUNDLE, { isStatic: false });
const PAGES = new Map(
  [...SITE].filter(([path]) => path.endsWith('.html')).map(([path, html]) => [path, `${html}`]),
);

/** Documents that are not pages, with the reason. */
const NOT_SERVED = new Set(['CODE_OF_CONDUCT.md']);

function linksOf(html: string): readonly string[] {
  return [...html.matchAll(/ (?:href|src|action)="([^"]*)"/g)].map(([, link = '']) =>
    link.replaceAll('&#38;', '&'),
  );
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id));
}

describe('the pages of the documents', () => {
  it('are made from every document, each in one group by purpose', () => {
    const documents = globSync(['docs/**/*.md', '*.md'], { cwd: ROOT }).map((path) =>
      path.replaceAll('\\', '/'),
    );
    const expected = documents.filter((path) => path !== 'README.md' && !NOT_SERVED.has(path));
    const served = SOURCES.filter((path) => !path.startsWith('bench/'));
    assert.deepEqual([...served].sort(), expected.sort());
    assert.equal(new Set(SOURCES).size, SOURCES.length);
    assert.deepEqual(
      GROUPS.map(({ title }) => title),
      ['Tutorials', 'How-to guides', 'Reference', 'Explanation'],
    );
    for (const source of SOURCES) assert.ok(existsSync(join(ROOT, source)), source);
  });

  it('link only to pages, anchors and files that exist', () => {
    let count = 0;
    for (const [page, html] of PAGES) {
      for (const link of linksOf(html)) {
        if (/^(https?|mailto):/.test(link)) continue;
        const [path = '', anchor] = link.split('#', 2);
        const target = path === '' ? page : joinUrl(dirname(page), path);
        if (target.startsWith('assets/') || target === 'api/plain') continue;
        assert.ok(SITE.has(target), `${page}: ${link}`);
        count++;
        if (anchor === undefined) continue;
        assert.ok(idsOf(PAGES.get(target) ?? '').has(anchor), `${page}: ${link}`);
      }
    }
    assert.ok(count > 1_000, `${count}`);
  });

  it('have unique ids, and no inline script or style', () => {
    for (const [page, html] of PAGES) {
      const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      assert.equal(new Set(ids).size, ids.length, page);
      assert.doesNotMatch(html, /<script(?! type="module" src)|<style| style="| on\w+="/, page);
    }
  });

  it('load nothing from other hosts', () => {
    for (const [page, html] of PAGES) {
      const loaded = [...html.matchAll(/<(?:img|link|script|form)[^>]* (?:href|src|action)="([^"]*)"/g)];
      assert.ok(loaded.length >= 3);
      for (const [, url = ''] of loaded) assert.doesNotMatch(url, /^(?:\w+:|\/)/, page);
    }
  });

  it('show links to files that are not served as text with the path', () => {
    const operations = PAGES.get('operations.html') ?? '';
    for (const path of ['deploy/corkboard.service', 'compose.yaml'])
      assert.ok(operations.includes(path), path);
    const place = { source: 'docs/errors.md', page: 'errors.html', addPicture: (path: string) => path };
    const [section] = readDocument('# A\n\nThe [unit](../deploy/corkboard.service).', place).sections;
    assert.match(
      section?.html ?? '',
      /The unit \(<code>deploy\/corkboard\.service<\/code> in the repository\)\./,
    );
    assert.throws(
      () => readDocument('[gone](gone.md)', place),
      /errors\.md links to gone\.md, which does not/,
    );
  });

  it('name the language of a code block', () => {
    const tutorial = PAGES.get('tutorials/from-key-to-dataframe.html') ?? '';
    assert.match(
      tutorial,
      /<figcaption>python<\/figcaption><pre tabindex="0"><code class="language-python">/,
    );
  });
});

describe('the home of the documents', () => {
  const html = PAGES.get('index.html') ?? '';

  it('leads each of the five readers of the README to a page, and to the reference', () => {
    const cards = [...html.matchAll(/<li><h3>(.*?)<\/h3>\n<p class="first">.*?href="([^"]+)"/g)];
    assert.deepEqual(
      cards.map(([, reader, page]) => [reader, page]),
      [
        ['An analyst', 'tutorials/from-key-to-dataframe.html'],
        ['An integrator of an LMS', 'tutorials/grades-into-an-lms.html'],
        ['An administrator', 'import.html'],
        ['An operator', 'tutorials/first-day-as-an-operator.html'],
        ['An engineer who reviews or changes it', 'architecture.html'],
      ],
    );
    assert.match(html, /<p class="prominent"><a href="api\.html">API reference<\/a>/);
  });

  it('lists every page', () => {
    const [, list = ''] = html.split('<div class="groups">');
    const links = new Set(linksOf(list));
    for (const source of SOURCES) assert.ok(links.has(pageOf(source) ?? ''), source);
  });
});

describe('the index of the search', () => {
  const index = MiniSearch.loadJSON(`${SITE.get('search.json')}`, SEARCH_OPTIONS);
  const first = (query: string) => index.search(query)[0]?.['id'];

  it('finds sections by words of their text and heading, by beginnings, and with a slip', () => {
    assert.equal(first('keys rotate'), 'command-line.html#corkboard-keys-rotate');
    assert.equal(first('glossary'), 'architecture.html#glossary');
    assert.equal(first('decision 60 fair shares'), 'decisions.html#60-fair-shares');
    assert.ok(index.search('--rate-limit').some(({ id }) => id === 'operations.html#requests'));
    assert.ok(index.search('pseudonim').some(({ id }) => id.startsWith('security.html')));
    assert.deepEqual(index.search('xylophone'), []);
    assert.equal(first('the glossary'), first('glossary'), 'words that every section has are ignored');
  });

  it('finds the beginning of a word that is one of those ignored', () => {
    for (const [query, word] of [
      ['or', 'organization'],
      ['the Fo', 'format'],
      ['to', 'token'],
    ] as const) {
      assert.ok(
        index.search(query).some(({ terms }) => terms.includes(word)),
        query,
      );
    }
  });

  it('has every section, with an anchor that exists', () => {
    assert.ok(index.documentCount > 300, `${index.documentCount}`);
    for (const { id } of index.search(MiniSearch.wildcard)) {
      const [page = '', anchor] = id.split('#', 2);
      const html = PAGES.get(page);
      assert.ok(html !== undefined && (anchor === undefined || idsOf(html).has(anchor)), id);
    }
  });

  it('is smaller than 1.3 megabytes', () => {
    assert.ok(Buffer.byteLength(`${SITE.get('search.json')}`) < 1_300_000);
  });
});

describe('a static site', () => {
  const site = renderSite(BUNDLE, { isStatic: true });

  it('has the OpenAPI documents that its reference names, and no link out of its folder', () => {
    const html = `${site.get('api.html')}`;
    const [, documents = ''] =
      /data-documents="([^"]*)" data-server="http:\/\/127\.0\.0\.1:8080"/.exec(html) ?? [];
    assert.equal(documents, 'openapi/a.json openapi/b.json openapi/insights.json');
    for (const path of documents.split(' ')) assert.equal(JSON.parse(`${site.get(path)}`).openapi, '3.1.0');
    for (const [page, content] of site) {
      if (!page.endsWith('.html')) continue;
      for (const link of linksOf(`${content}`)) {
        assert.doesNotMatch(joinUrl(dirname(page), link), /^\.\.|^\//, `${page}: ${link}`);
      }
    }
  });
});
