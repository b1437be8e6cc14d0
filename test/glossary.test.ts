/** Files of the product are named by the glossary in ARCHITECTURE.md. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { it } from 'node:test';

const ROOT = join(import.meta.dirname, '..');
/** Words that are wrong for one term of the glossary and right for other things. */
const RIGHT_ELSEWHERE = new Set([
  ...['batch', 'block', 'dataset', 'interaction', 'part', 'place', 'publication', 'run', 'scratch'],
]);

/** The words in the last column of the glossary. */
function refusedWords(): ReadonlySet<string> {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const glossary = /^## Glossary\n([\s\S]*?)^## /m.exec(text)?.[1] ?? '';
  const rows = glossary.split('\n').filter((line) => /^\| (?!term |-)/.test(line));
  const words = rows.flatMap((row) => (row.split('|')[3] ?? '').replaceAll(/\(.*?\)/g, '').split(','));
  return new Set(words.map((word) => word.trim()).filter((word) => /^\w+$/.test(word)));
}

it('the names of source files avoid the words that the glossary refuses', () => {
  const refused = refusedWords();
  assert.ok(refused.has('standing') && refused.has('shelf'), 'the glossary is read');
  const isRefused = (word: string) =>
    [word, word.replace(/s$/, ''), word.replace(/es$/, '')].some(
      (form) => refused.has(form) && !RIGHT_ELSEWHERE.has(form),
    );
  const files = globSync('src/**/*.ts', { cwd: ROOT });
  assert.ok(files.length > 100);
  assert.deepEqual(
    files.filter((file) => basename(file, '.ts').split('-').some(isRefused)),
    [],
  );
});
