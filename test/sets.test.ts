/** Each test file belongs to the correct set, so that the quick run stays quick and complete. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { describe, it } from 'node:test';
import { filesOf, quickFiles, SETS, setsOf, testFiles } from './sets.ts';

const ROOT = join(import.meta.dirname, '..');
const FILES = testFiles();

/** Imports that start a browser, or look for a program. */
const TOOLS = /from '\.[\w./-]*\/(browser|visit|shared-stand|blocks)\.ts'/;
/** Code that starts PostgreSQL or an S3-compatible server, or runs over storages that need them. */
const SERVERS =
  /from '\.[\w./-]*\/((postgres|s3)\/|shared-servers)|\b(CATALOGS|DIRECT|newMigratedDatabase)\b/;
const ALL_STORAGES = /\b(STORAGES|describeOverStorages)\b/;

function filesWith(...expressions: readonly RegExp[]): readonly string[] {
  const texts = FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const);
  return texts.filter(([, text]) => expressions.some((one) => one.test(text))).map(([file]) => file);
}

describe('test files', () => {
  it('belong to at most one set', () => {
    assert.deepEqual(
      FILES.filter((file) => setsOf(file).length > 1),
      [],
    );
  });

  it('exist for each pattern of a set', () => {
    const patterns = Object.values(SETS).flat();
    assert.deepEqual(
      patterns.filter((pattern) => !FILES.some((file) => matchesGlob(file, pattern))),
      [],
    );
  });

  it('that start a browser or look for a program need tools', () => {
    assert.deepEqual(
      filesWith(TOOLS).filter((file) => !filesOf('tools').includes(file)),
      [],
    );
  });

  it('are not quick if they need a separate server', () => {
    const needing = filesWith(SERVERS, ALL_STORAGES).filter((file) => file !== 'test/sets.test.ts');
    assert.deepEqual(
      needing.filter((file) => quickFiles().includes(file)),
      [],
    );
  });
});
