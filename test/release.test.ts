/** What a release says about the packages that it installs: their licences and digests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import packageFile from '../package.json' with { type: 'json' };
import { licencesOf } from '../release/licences.ts';
import { readLockFile } from '../release/lock-file.ts';
import { makeSbom } from '../release/sbom.ts';

describe('the licences of the product', () => {
  it('are all allowed, and cover every direct dependency', () => {
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
