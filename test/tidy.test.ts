/** The tidy check finds a violation of each of its rules, and no others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BANNED, findViolations } from './tidy.ts';

const linesOf = (path: string, text: string) => findViolations(path, text).map(({ line }) => line);
const WIDE = 'word '.repeat(21);

describe('the tidy check', () => {
  for (const phrase of Object.keys(BANNED)) {
    it(`refuses "${phrase}" in documents, comments and texts, also across white space`, () => {
      const written = phrase.replace(' ', '  ');
      for (const text of [
        `It ${written} it.`,
        `/** It ${written.toUpperCase()} it. */`,
        `say('${written}');`,
      ]) {
        assert.deepEqual(linesOf('docs/a.md', `fine\n${text}`), [2], text);
        assert.deepEqual(linesOf('src/a.ts', `fine\n${text}`), [2], text);
      }
    });
  }

  it('accepts names and words that only contain a phrase', () => {
    assert.deepEqual(linesOf('src/a.ts', 'const startsAnew = understands(marshall, wantsMore);'), []);
  });

  it('refuses prose and comments wider than 100 columns', () => {
    assert.deepEqual(linesOf('docs/a.md', `fine\n${WIDE}`), [2]);
    for (const start of ['// ', '/** ', ' * '])
      assert.deepEqual(linesOf('src/a.ts', start + WIDE), [1], start);
    assert.deepEqual(linesOf('deploy/a.yaml', `# ${WIDE}`), [1]);
  });

  it('accepts wide tables, code, links and addresses', () => {
    for (const text of [`| ${WIDE}`, `    ${WIDE}`, `\`\`\`\n${WIDE}\n\`\`\``, `![${WIDE}](a.svg)`]) {
      assert.deepEqual(linesOf('docs/a.md', text), [], text);
    }
    assert.deepEqual(linesOf('docs/a.md', `See https://example.org/${'a'.repeat(90)} for more.`), []);
    assert.deepEqual(linesOf('src/a.ts', `say('${WIDE}');`), []);
  });
});
