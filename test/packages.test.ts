/** The metadata of the packages; `conformance/packages.ts` installs and runs them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import packageFile from '../package.json' with { type: 'json' };
import { ROOT } from '../release/lock-file.ts';
import {
  CLIENT_NAME,
  clientManifest,
  SERVER_NAME,
  serverManifest,
  serverShrinkwrap,
} from '../release/manifests.ts';

describe('the package of the server', () => {
  it('is what the repository runs, without development dependencies', () => {
    const manifest = serverManifest();
    assert.equal(packageFile.name, SERVER_NAME);
    assert.equal(manifest.version, packageFile.version);
    assert.deepEqual(manifest.dependencies, packageFile.dependencies);
    assert.deepEqual(
      Object.keys(manifest).filter((name) => /scripts|dev|private/.test(name)),
      [],
    );
  });

  it('fixes the version and the digest of every dependency', () => {
    const { '': root, ...packages } = serverShrinkwrap().packages as Record<string, Record<string, unknown>>;
    assert.deepEqual(root?.['dependencies'], packageFile.dependencies);
    assert.equal(root?.['devDependencies'], undefined);
    for (const name of Object.keys(packageFile.dependencies))
      assert.ok(packages[`node_modules/${name}`], name);
    for (const [path, { dev, integrity, version }] of Object.entries(packages)) {
      assert.equal(dev, undefined, path);
      assert.match(String(integrity), /^sha512-/, path);
      assert.match(String(version), /^\d+\.\d+\.\d+/, path);
    }
    for (const name of ['typescript', 'node', 'react'])
      assert.equal(packages[`node_modules/${name}`], undefined);
  });
});

describe('the package of the client', () => {
  it('has no dependencies, and the version of the server', () => {
    const manifest = clientManifest();
    assert.equal(manifest.version, packageFile.version);
    assert.deepEqual(
      Object.keys(manifest).filter((name) => /dependencies|scripts|bin/i.test(name)),
      [],
    );
  });
});

describe('the README of a package', () => {
  for (const file of ['server.md', 'client.md']) {
    it(`has no links to files that the registry does not show, ${file}`, () => {
      const text = readFileSync(join(ROOT, 'release', file), 'utf8');
      const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
      assert.deepEqual(
        links.filter((link) => !/^https?:/.test(link)),
        [],
      );
    });
  }

  it('names the package', () => {
    const textOf = (file: string) => readFileSync(join(ROOT, 'release', file), 'utf8');
    assert.match(textOf('server.md'), new RegExp(`npm install --global ${SERVER_NAME}\n`));
    assert.match(textOf('client.md'), new RegExp(`npm install ${CLIENT_NAME}\n`));
    assert.deepEqual(readdirSync(join(ROOT, 'release')).filter((name) => name.endsWith('.md')).length, 2);
  });
});
