/**
 * The claims in SECURITY.md are correct: its options, codes, parameters, links and decisions exist.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import packageFile from '../package.json' with { type: 'json' };
import { PROBLEM_CODES } from '../src/domain/app-error.ts';
import { PARAMETERS } from '../src/server/request/parameters.ts';
import { allCommands } from './cli/command-line-document.ts';
import { anchorsOf, brokenLinks } from './document-links.ts';

const ROOT = join(import.meta.dirname, '..');
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const SECURITY = textOf('SECURITY.md');

/** Code spans. */
const quoted = [...SECURITY.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);

describe('SECURITY.md', () => {
  it('names existing options', () => {
    const known = new Set(
      allCommands().flatMap(([, command]) => command.options.map(({ long }) => long ?? '')),
    );
    const named = quoted.flatMap((text) => text.match(/--[a-z-]+/g) ?? []);
    assert.ok(named.length > 8);
    assert.deepEqual(
      named.filter((option) => !known.has(option)),
      [],
    );
  });

  it('names existing problem codes and parameters', () => {
    const codes = quoted.filter((text) => /^(key|data)-[a-z-]+$/.test(text));
    assert.ok(codes.length >= 3);
    assert.deepEqual(
      codes.filter((code) => !PROBLEM_CODES.some((known) => known === code)),
      [],
    );
    const parameters = quoted.flatMap((text) => /^(\w+)=\d$/.exec(text)?.[1] ?? []);
    assert.deepEqual(parameters, ['excel']);
    assert.ok(parameters.every((name) => name in PARAMETERS));
  });

  it('links to existing files, headings and decisions', () => {
    assert.deepEqual(brokenLinks('SECURITY.md'), []);
    const decisions = anchorsOf(textOf('docs/decisions.md'));
    for (const [, number] of SECURITY.matchAll(/decision (\d+)/g)) {
      assert.ok(decisions.has(`decision-${number}`), `decision ${number}`);
    }
  });

  it('is short, is part of the package, and is linked from the README and the operations guide', () => {
    assert.ok(SECURITY.split('\n').length <= 150);
    const prose = SECURITY.split('\n').filter((line) => !line.startsWith('|'));
    assert.deepEqual(
      prose.filter((line) => line.length > 100),
      [],
    );
    assert.ok(packageFile.files.includes('SECURITY.md'));
    assert.match(textOf('README.md'), /\]\(SECURITY\.md\)/);
    assert.match(textOf('docs/operations.md'), /\]\(\.\.\/SECURITY\.md\)/);
  });
});
