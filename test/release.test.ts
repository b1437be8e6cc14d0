/** A release: its version, and the licences and digests of the packages that it installs. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import packageFile from '../package.json' with { type: 'json' };
import { licencesOf } from '../release/licences.ts';
import { ROOT, readLockFile } from '../release/lock-file.ts';
import { changedFiles, isLater, releaseChangelog, replaceVersion } from '../release/release.ts';
import { makeSbom } from '../release/sbom.ts';

describe('the licences of the product', () => {
  it('are all allowed, those of every direct dependency among them', () => {
    const licences = licencesOf(readLockFile());
    assert.deepEqual(
      licences.filter(({ isAllowed }) => !isAllowed),
      [],
    );
    const names = new Set(licences.map(({ name }) => name));
    assert.deepEqual(
      Object.keys(packageFile.dependencies).filter((name) => !names.has(name)),
      [],
    );
  });

  it('are refused if they are unknown or missing, except in development', () => {
    const packages = {
      '': {},
      'node_modules/good': { version: '1.0.0', license: 'MIT' },
      'node_modules/good/node_modules/@x/bad': { version: '2.0.0', license: 'GPL-3.0-only' },
      'node_modules/silent': { version: '3.0.0' },
      'node_modules/tool': { version: '4.0.0', license: 'GPL-3.0-only', dev: true },
    };
    assert.deepEqual(licencesOf({ packages }), [
      { name: 'good', version: '1.0.0', licence: 'MIT', isAllowed: true },
      { name: '@x/bad', version: '2.0.0', licence: 'GPL-3.0-only', isAllowed: false },
      { name: 'silent', version: '3.0.0', licence: 'none', isAllowed: false },
    ]);
  });
});

describe('the bill of materials', () => {
  it('has every package of the product with a digest, and none of development', () => {
    const { bomFormat, metadata, components } = JSON.parse(makeSbom());
    assert.equal(bomFormat, 'CycloneDX');
    assert.equal(metadata.component.name, packageFile.name);
    assert.equal(metadata.component.version, packageFile.version);
    const named = new Map<string, unknown[]>(
      components.map((one: { name: string; hashes?: unknown[] }) => [one.name, one.hashes ?? []]),
    );
    const installed = licencesOf(readLockFile()).map(({ name }) => name);
    assert.deepEqual([...named.keys()].sort(), [...new Set(installed)].sort());
    for (const [name, hashes] of named) assert.equal(hashes.length, 1, name);
    for (const name of ['typescript', 'knip', 'react']) assert.ok(!named.has(name), name);
  });
});

describe('a release', () => {
  const later = '99.0.0';
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-release-'));
  after(() => rmSync(folder, { recursive: true }));
  for (const name of ['README.md', 'package.json', 'package-lock.json', 'docs', 'deploy']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  writeFileSync(join(folder, 'CHANGELOG.md'), '## [Unreleased]\n- One.\n');
  const files = changedFiles(folder, later, '2026-11-24');

  it('is later than the one before', () => {
    assert.ok(isLater('0.2.0', '0.1.9') && isLater('0.1.10', '0.1.9') && isLater('1.0.0', '0.99.99'));
    assert.ok(!isLater('0.1.9', '0.1.9') && !isLater('0.1.8', '0.1.9') && !isLater('0.9.0', '1.0.0'));
    assert.throws(() => isLater('1.0', '0.1.0'), /1\.0 is not a version/);
    assert.throws(() => changedFiles(folder, '0.0.1', ''), /0\.0\.1 is not later than/);
  });

  it('changes the version in both files of npm and in every document that names it', () => {
    for (const path of ['package.json', 'package-lock.json']) {
      const { version } = JSON.parse(files.get(path) ?? '');
      assert.equal(version, later);
    }
    assert.match(files.get('deploy/kubernetes/folder/kustomization.yaml') ?? '', /^ +newTag: 99\.0\.0$/m);
    const documents = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
    for (const path of ['README.md', ...documents.map((name) => join('docs', name))]) {
      if (!path.endsWith('.md')) continue;
      const text = files.get(path) ?? readFileSync(join(ROOT, path), 'utf8');
      for (const [name, version] of text.matchAll(/corkboard-(?:server|client)-([\d.]+)\.tgz/g)) {
        assert.equal(version, later, `${path}: ${name}`);
      }
    }
    assert.equal(
      replaceVersion('0.1.0, 0.1.0.1, 10.1.0, x-0.1.0.tgz', '0.1.0', '1.2.3'),
      '1.2.3, 0.1.0.1, 10.1.0, x-1.2.3.tgz',
    );
  });

  it('has the unreleased changes of the changelog, and leaves an empty section', () => {
    const log = '# Changelog\n\n## [Unreleased]\n### Added\n- One.\n\n## [0.1.0]\n- Zero.\n';
    assert.equal(
      releaseChangelog(log, '0.2.0', '2026-11-24'),
      '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-24\n### Added\n- One.\n\n## [0.1.0]\n- Zero.\n',
    );
    const released = releaseChangelog(log, '0.2.0', '2026-11-24');
    assert.throws(() => releaseChangelog(released, '0.3.0', '2026-11-25'), /no unreleased changes/);
  });
});
