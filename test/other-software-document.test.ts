/** The tables of docs/other-software.md are complete, and name tests and links that exist. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { brokenLinks } from './document-links.ts';

const ROOT = join(import.meta.dirname, '..');
const PATH = 'docs/other-software.md';
const TEXT = readFileSync(join(ROOT, PATH), 'utf8');

const ROWS = [...TEXT.matchAll(/^\| (?!software \|)(.+) \|$/gm)].map(([, row = '']) => row.split(' | '));

describe(PATH, () => {
  it('has software, behavior, source and test in each row, and names tests that exist', () => {
    assert.ok(ROWS.length > 40);
    for (const row of ROWS) {
      assert.equal(row.length, 5, row.join(' | '));
      const [software = '', , behavior = '', source = '', test = ''] = row;
      assert.ok(
        [software, behavior, source].every((cell) => cell.trim() !== ''),
        software,
      );
      const paths = [...test.matchAll(/`(test\/[^`]+\.test\.ts)`/g)].map(([, path = '']) => path);
      for (const path of paths) assert.ok(existsSync(join(ROOT, path)), path);
      if (paths.length === 0) assert.match(test, /^none: ./, software);
    }
  });

  it('has every script of findings/, and links to existing files and headings', () => {
    for (const name of readdirSync(join(ROOT, 'findings')))
      assert.ok(TEXT.includes(`(../findings/${name})`), name);
    assert.deepEqual(brokenLinks(PATH), []);
    assert.deepEqual(brokenLinks('docs/gradebooks.md'), []);
  });
});
