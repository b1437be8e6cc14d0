/**
 * `docs/decisions.md` and its citations: numbers are unique and in order, each decision has an
 * anchor and an entry in the table of contents, and every cited number exists.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const ROOT = join(import.meta.dirname, '..');
const PAGE = 'docs/decisions.md';
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const TEXT = textOf(PAGE);

/** Numbers that no decision has. */
const UNUSED = new Set([48, 49]);

/** Files that cite decisions. */
const CITING = [
  ...globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT }),
  ...globSync('{src,test,bench,console,upgrade,conformance,demo,deploy}/**/*.{ts,tsx,md,css,json}', {
    cwd: ROOT,
    exclude: ['**/node_modules', '**/dist', 'test/console/screenshots'],
  }),
];

interface Heading {
  readonly number: number;
  readonly title: string;
  /** The line before the heading. */
  readonly before: string;
}

const HEADINGS: readonly Heading[] = [...TEXT.matchAll(/^(.*)\n## (\d+)\. (.+)$/gm)].map(
  ([, before = '', number, title = '']) => ({ number: Number(number), title, before }),
);
const NUMBERS = HEADINGS.map(({ number }) => number);

/**
 * Numbers cited as "decision 7" or "decisions 9, 23 to 27 and 71", also across the end of a line.
 */
function citedNumbers(text: string): readonly number[] {
  const joined = text.replace(/\n[ \t]*(\*|\/\/)?[ \t]*/g, ' ');
  const lists = joined.matchAll(/\bdecisions? (\d+(?:(?:, | and | to | or )(?:and )?\d+)*)/gi);
  return [...lists].flatMap(([, list = '']) =>
    [...list.matchAll(/(\d+)(?: to (\d+))?/g)].flatMap(([, first, last]) => {
      const from = Number(first);
      const to = Number(last ?? first);
      assert.ok(from <= to, `decisions ${list}`);
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    }),
  );
}

describe('the decisions', () => {
  it('have numbers from 1 on, in order and without duplicates', () => {
    assert.ok(NUMBERS.length >= 75);
    assert.deepEqual(
      NUMBERS,
      NUMBERS.map((_, index) => index + 1),
    );
    const others = [...TEXT.matchAll(/^## (?!\d+\. )(.*)$/gm)].map(([, title]) => title);
    assert.deepEqual(others, ['Contents']);
  });

  it('have an anchor that depends only on the number', () => {
    for (const { number, before } of HEADINGS) {
      assert.equal(before, `<a id="decision-${number}"></a>`);
    }
    assert.equal([...TEXT.matchAll(/<a id=/g)].length, HEADINGS.length);
  });

  it('are listed once in the table of contents, with their titles', () => {
    const [contents = ''] = TEXT.split('<a id="decision-1">');
    const listed = [...contents.matchAll(/\[(\d+)\. ([^\]]+)\]\(#decision-(\d+)\)/g)];
    for (const [link, number, , anchor] of listed) assert.equal(number, anchor, link);
    assert.deepEqual(
      listed
        .map(([, number, title]) => ({ number: Number(number), title }))
        .sort((a, b) => a.number - b.number),
      HEADINGS.filter(({ number }) => !UNUSED.has(number)).map(({ number, title }) => ({ number, title })),
    );
  });

  it('are cited by numbers that exist', () => {
    const known = new Set(NUMBERS.filter((number) => !UNUSED.has(number)));
    let count = 0;
    for (const path of CITING) {
      for (const number of citedNumbers(textOf(path))) {
        count++;
        assert.ok(known.has(number), `${path} cites decision ${number}`);
      }
    }
    assert.ok(count > 300, `${count}`);
  });

  it('are linked by anchors that exist', () => {
    const anchors = new Set(NUMBERS.map((number) => `decision-${number}`));
    for (const path of CITING) {
      const text = textOf(path);
      const links = [...text.matchAll(/decisions\.md#([\w-]+)/g)];
      if (path === PAGE) links.push(...text.matchAll(/\]\(#([\w-]+)\)/g));
      for (const [, anchor = ''] of links) assert.ok(anchors.has(anchor), `${path}: #${anchor}`);
    }
  });

  it('have lines of at most 100 columns', () => {
    assert.deepEqual(
      TEXT.split('\n').filter((line) => line.length > 100),
      [],
    );
  });

  it('state the open point and the choice', () => {
    const texts = TEXT.split(/^<a id="decision-\d+"><\/a>$/m).slice(1);
    const without = texts.filter((text) => !/^\*\*Open:\*\* [\s\S]*^\*\*Choice/m.test(text));
    assert.deepEqual(
      without.map((text) => Number(/^## (\d+)/m.exec(text)?.[1])),
      [44, ...UNUSED],
    );
  });

  it('refer to existing files', () => {
    const named = [...TEXT.matchAll(/(?:`|\]\(\.\.\/)([a-z]+(?:\/[\w.-]+)*\/[\w-]+\.(?:ts|wat|md))[`)]/g)];
    for (const [, path = ''] of named) assert.ok(existsSync(join(ROOT, path)), path);
  });
});

describe('citations', () => {
  it('are found in lists, in ranges and across the ends of lines', () => {
    assert.deepEqual(citedNumbers('(decision 7)'), [7]);
    assert.deepEqual(citedNumbers('(decisions 10, 25 and 71)'), [10, 25, 71]);
    assert.deepEqual(citedNumbers('(decisions 9, 23 to 26)'), [9, 23, 24, 25, 26]);
    assert.deepEqual(citedNumbers(' * as always (decisions 5,\n   * 6), and (decision\n// 8).'), [5, 6, 8]);
    assert.deepEqual(citedNumbers('Decision 8: 3 of 4'), [8]);
  });
});
